import { posix } from 'node:path';

/** A line of mountinfo, as far as it is read here. */
export interface MountEntry {
  readonly id: number;
  readonly parentId: number;
  /** The file system by its device, "major:minor". */
  readonly device: string;
  /** The folder or file of that file system that is mounted. */
  readonly root: string;
  readonly mountPoint: string;
  readonly type: string;
}

/** Identifies a file: equal in two mount namespaces exactly when both show the same file at a path. */
export interface FileIdentity {
  readonly device: string;
  readonly path: string;
}

/**
 * Reads /proc/PID/mountinfo, in the kernel's order. A line is "id parent device root mountpoint options [tags] - type
 * source super-options"; the kernel writes space, tab, newline and backslash in paths as octal.
 */
export function parseMountInfo(text: string): MountEntry[] {
  return text.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [id, parentId, device = '', root = '', mountPoint] = before.split(' ');
    if (mountPoint === undefined) return [];
    const [type = ''] = after.split(' ');
    return {
      id: Number(id),
      parentId: Number(parentId),
      device,
      root: unescapePath(root),
      mountPoint: unescapePath(mountPoint),
      type,
    };
  });
}

const unescapePath = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

/** Whether `path` is `folder` or below it; both absolute and without links. */
export function isAtOrBelow(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`);
}

/** Which file system a path of a mount namespace is on. Paths are absolute and without links. */
export class MountTable {
  /** The first mount at "/", which others may cover. */
  readonly root: MountEntry;
  readonly #entries: readonly MountEntry[];
  /** By the mount that they are on and their mount point: there is at most one for both. */
  readonly #children = new Map<string, MountEntry>();

  /** Throws when there is no "/", as in what a process sees that has changed its root directory. */
  constructor(entries: readonly MountEntry[]) {
    const ids = new Set(entries.map(({ id }) => id));
    const root = entries.find(({ mountPoint, parentId, id }) => mountPoint === '/' && (parentId === id || !ids.has(parentId)));
    if (root === undefined) throw new Error('no file system is mounted at "/"');
    this.root = root;
    this.#entries = entries;
    for (const entry of entries)
      if (entry !== root && entry.parentId !== entry.id) this.#children.set(keyOf(entry.parentId, entry.mountPoint), entry);
  }

  /**
   * Walks down as the kernel does: a mount on top of another one hides it, and with it all that is mounted below, in
   * whatever order the lines are.
   */
  at(path: string): MountEntry {
    let current = this.root;
    let folder = '/';
    for (const part of ['', ...path.split('/').filter(Boolean)]) {
      folder = posix.join(folder, part);
      for (let next: MountEntry | undefined = current; next !== undefined; next = this.#children.get(keyOf(current.id, folder)))
        current = next;
    }
    return current;
  }

  identityAt(path: string): FileIdentity {
    const { device, root, mountPoint } = this.at(path);
    return { device, path: posix.join(root, posix.relative(mountPoint, path)) };
  }

  /** The mounts that can be reached. */
  visible(): MountEntry[] {
    return this.#entries.filter((entry) => this.at(entry.mountPoint) === entry);
  }
}

function keyOf(parentId: number, mountPoint: string): string {
  return `${parentId} ${mountPoint}`;
}
