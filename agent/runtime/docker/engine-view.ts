import { posix } from 'node:path';
import { type FileIdentity, isAtOrBelow, type MountEntry, type MountTable } from '../../machine/mount-table.ts';

/** What the engine mounts into a container: a file or folder of the machine. */
export interface EngineMount {
  /** The path in the spec; symbolic links of the image are resolved at the mount. */
  readonly destination: string;
  /** Without links; undefined when it is not there any more. */
  readonly source: string | undefined;
}

/**
 * How a path of a container can be copied. "engine": with the engine's archive calls. "container": only by a program
 * inside the container, since the engine does not see what is mounted there. "kernel": it is an interface of the
 * kernel, whose files have no size before they are read.
 */
export interface Place {
  readonly kind: 'engine' | 'container' | 'kernel';
  readonly mount: Pick<MountEntry, 'mountPoint' | 'type'>;
  /** Whether the engine finds the same file there. */
  readonly seen: boolean;
}

export interface EngineView {
  /** Of an absolute path without links. */
  placeOf(path: string): Place;
  /** The places below a folder that differ from "engine", the topmost of each branch. */
  below(folder: string): Place[];
  /**
   * Whether a path is a mount point or leads to one: then it holds no link,
   * since the kernel tells mount points without links.
   */
  hasNoLinks(path: string): boolean;
  /** Why only "kernel" or "container" is possible, in words; undefined when the mounts were read. */
  readonly unknown?: string;
  /** Whether programs can be started in the container. */
  readonly running: boolean;
}

const kernelTypes = new Set(
  ['proc', 'sysfs', 'cgroup', 'cgroup2', 'debugfs', 'tracefs', 'securityfs', 'configfs', 'bpf', 'pstore', 'efivarfs'].concat([
    'selinuxfs',
    'smackfs',
    'binfmt_misc',
    'rpc_pipefs',
    'resctrl',
    'fusectl',
    'nsfs',
  ]),
);

/**
 * What the engine makes in each container, below which it is no file that anyone misses.
 * A volume at one of them is the engine's own mount.
 */
const deviceMounts = new Set(['/dev', '/dev/pts', '/dev/shm', '/dev/mqueue', '/dev/console']);

/**
 * The engine reads and writes the container's layers with its volumes mounted on them once more, in a mount namespace
 * of its own: it sees nothing that was mounted otherwise, /proc and /dev/shm among it. It sees the right file where the
 * file it would find is the one that the container's own mount namespace has there.
 */
export function createEngineView(container: MountTable, host: MountTable, mounts: readonly EngineMount[]): EngineView {
  const visible = container.visible();
  const places = mounts.map((mount) => ({ ...mount, destination: whereMounted(mount, visible, container, host) }));
  const mountPoints = new Set(visible.flatMap(({ mountPoint }) => foldersOf(mountPoint)));

  function engineFile(path: string): FileIdentity | undefined {
    const over = places.filter(({ destination }) => isAtOrBelow(path, destination));
    const [place] = over.sort((a, b) => b.destination.length - a.destination.length);
    const { device, root } = container.root;
    if (place === undefined) return { device, path: posix.join(root, path) };
    if (place.source === undefined) return undefined;
    return host.identityAt(posix.join(place.source, posix.relative(place.destination, path)));
  }

  function placeOf(path: string): Place {
    const mount = container.at(path);
    const seen = isSame(engineFile(path), container.identityAt(path));
    if (kernelTypes.has(mount.type)) return { kind: 'kernel', mount, seen };
    return { kind: seen ? 'engine' : 'container', mount, seen };
  }

  return {
    running: true,
    placeOf,
    below(folder) {
      const found = visible
        .filter(({ mountPoint }) => mountPoint !== folder && isAtOrBelow(mountPoint, folder))
        .map(({ mountPoint }) => placeOf(mountPoint))
        .filter(({ kind, mount }) => kind === 'kernel' || (kind === 'container' && !deviceMounts.has(mount.mountPoint)));
      return topmost(found);
    },
    hasNoLinks: (path) => mountPoints.has(path),
  };
}

/**
 * Mounts that were made before the file system that they are in have its links in their destination:
 * it is found by what is mounted there.
 */
function whereMounted(
  { destination, source }: EngineMount,
  visible: readonly MountEntry[],
  container: MountTable,
  host: MountTable,
): string {
  if (source === undefined || visible.some(({ mountPoint }) => mountPoint === destination)) return destination;
  const wanted = host.identityAt(source);
  const found = visible.find(({ mountPoint }) => isSame(wanted, container.identityAt(mountPoint)));
  return found?.mountPoint ?? destination;
}

const isSame = (one: FileIdentity | undefined, other: FileIdentity): boolean =>
  one !== undefined && one.device === other.device && one.path === other.path;

/** "/a/b": "/", "/a" and "/a/b". */
function foldersOf(path: string): string[] {
  const parts = path.split('/').filter(Boolean);
  return ['/', ...parts.map((_, at) => `/${parts.slice(0, at + 1).join('/')}`)];
}

/** Sorted as a tree is walked, what is below one comes right behind it. */
function topmost(places: readonly Place[]): Place[] {
  const keyOf = ({ mount }: Place): string => `${mount.mountPoint}/`.replaceAll('/', '\0');
  const sorted = places.map((place) => ({ place, key: keyOf(place) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  const kept: Place[] = [];
  for (const { place } of sorted) {
    const last = kept.at(-1);
    if (last === undefined || !isAtOrBelow(place.mount.mountPoint, last.mount.mountPoint)) kept.push(place);
  }
  return kept;
}

const kernelFolders = [
  { mountPoint: '/proc', type: 'proc' },
  { mountPoint: '/sys', type: 'sysfs' },
];

/** The container's mounts cannot be read, for this reason: only a program inside it can read its files. */
export function createUnknownView(reason: string): EngineView {
  const root: Place = { kind: 'container', mount: { mountPoint: '/', type: 'unknown' }, seen: false };
  return fixedView({ running: true, unknown: reason }, [
    ...kernelFolders.map((mount): Place => ({ kind: 'kernel', mount, seen: false })),
    root,
  ]);
}

/**
 * Of a container without a process: there is what the engine sees, its volumes among it. What it had in memory and of
 * the kernel is gone, or not there yet.
 */
export function createStoppedView(mounts: readonly EngineMount[], inMemory: readonly string[]): EngineView {
  const memory = ['/dev', ...inMemory].map((mountPoint) => ({ mountPoint, type: 'tmpfs' }));
  const gone = [...kernelFolders, ...memory].map((mount): Place => ({ kind: 'container', mount, seen: false }));
  const seenAt = (mountPoint: string, type: string): Place => ({ kind: 'engine', mount: { mountPoint, type }, seen: true });
  const there = mounts.map(({ destination }) => seenAt(destination, 'bind'));
  const root = seenAt('/', 'overlay');
  return { ...fixedView({ running: false }, [...there, ...gone, root]), below: () => [] };
}

function fixedView(facts: Pick<EngineView, 'running' | 'unknown'>, places: readonly Place[]): EngineView {
  const byLength = [...places].sort((a, b) => b.mount.mountPoint.length - a.mount.mountPoint.length);
  return {
    ...facts,
    placeOf: (path) => byLength.find(({ mount }) => isAtOrBelow(path, mount.mountPoint)) as Place,
    below: (folder) =>
      topmost(places.filter(({ mount }) => mount.mountPoint !== folder && isAtOrBelow(mount.mountPoint, folder))),
    hasNoLinks: (path) => path === '/',
  };
}
