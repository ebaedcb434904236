import { join } from 'node:path';
import type { Controller } from './sources.ts';

/** Where cgroups of one hierarchy are seen in the file system. */
export interface Hierarchy {
  readonly mountPoint: string;
  /** The cgroup that is seen at the mount point; not "/" inside of a container. */
  readonly mountedRoot: string;
}

export interface Hierarchies {
  /** Of version 1, by controller. */
  readonly controllers: ReadonlyMap<string, Hierarchy>;
  readonly unified: Hierarchy | undefined;
}

/** Where the figures of one cgroup are. A controller that is missing is not counted on this machine. */
export interface CgroupPlace {
  /** As the kernel names it, without the mount point: the label `id`. */
  readonly path: string;
  readonly folders: Partial<Readonly<Record<Controller, { readonly version: 1 | 2; readonly folder: string }>>>;
}

/**
 * The hierarchies that /proc/self/mountinfo shows. A line is "id parent dev root mountpoint options [tags] - type
 * source super-options"; the controllers of version 1 are among the super options. Of several mounts of one hierarchy
 * the one with the shortest path counts: the others are containers'.
 */
export function parseHierarchies(mountInfo: string): Hierarchies {
  const controllers = new Map<string, Hierarchy>();
  let unified: Hierarchy | undefined;
  for (const line of mountInfo.split('\n')) {
    const [before, after] = line.split(' - ');
    const [type = '', , superOptions = ''] = after?.split(' ') ?? [];
    if (!type.startsWith('cgroup')) continue;
    const [, , , mountedRoot = '/', mountPoint = ''] = before?.split(' ') ?? [];
    const hierarchy = { mountPoint, mountedRoot };
    if (type === 'cgroup2') unified = shorter(unified, hierarchy);
    else for (const name of superOptions.split(',')) controllers.set(name, shorter(controllers.get(name), hierarchy));
  }
  return { controllers, unified };
}

function shorter(known: Hierarchy | undefined, found: Hierarchy): Hierarchy {
  return known !== undefined && known.mountPoint.length <= found.mountPoint.length ? known : found;
}

/**
 * Where a process is counted: its cgroup in each hierarchy. Lines are "number:controllers:path";
 * version 2 is the line "0::path".
 */
export interface ProcessCgroups {
  readonly controllers: ReadonlyMap<string, { readonly path: string; readonly names: string }>;
  readonly unified: string | undefined;
}

export function parseProcessCgroups(text: string): ProcessCgroups {
  const controllers = new Map<string, { path: string; names: string }>();
  let unified: string | undefined;
  for (const line of text.split('\n')) {
    const [, names, ...rest] = line.split(':');
    if (names === undefined || rest.length === 0) continue;
    // A path may hold colons of its own.
    const path = rest.join(':');
    if (names === '') unified = path;
    else for (const name of names.split(',')) controllers.set(name, { path, names });
  }
  return { controllers, unified };
}

const counted = ['cpu', 'cpuacct', 'memory', 'blkio', 'pids'] as const satisfies readonly Controller[];

/**
 * The container's cgroup in each hierarchy: that of its first process, but without what the container has made inside
 * of its own (systemd in a container moves itself one deeper). Undefined when the process is not (or no more) this
 * container's, which a process id alone cannot tell. A controller without a hierarchy of version 1 is looked for in the
 * unified one.
 */
export function computePlace(
  root: string,
  hierarchies: Hierarchies,
  process: ProcessCgroups,
  containerId: string,
): CgroupPlace | undefined {
  const folders: { -readonly [K in Controller]?: { version: 1 | 2; folder: string } } = {};
  const all = [process.unified ?? '', ...[...process.controllers.values()].map((each) => each.path)];
  // Where one hierarchy names the container, a path that does not is that of something around it.
  const owner = { containerId, named: all.some((each) => each.includes(containerId)) };
  const unifiedPath = process.unified === undefined ? undefined : ownPath(process.unified, owner);
  const unified = unifiedPath && folderOf(root, hierarchies.unified ?? usualUnified(process), unifiedPath);
  let path: string | undefined;
  for (const controller of counted) {
    const own = process.controllers.get(controller);
    const ownAt = own && ownPath(own.path, owner);
    const hierarchy = own && (hierarchies.controllers.get(controller) ?? usual(own.names));
    const folder = hierarchy && ownAt && folderOf(root, hierarchy, ownAt);
    if (folder) {
      folders[controller] = { version: 1, folder };
      path ??= ownAt;
    } else if (own === undefined && unified) folders[controller] = { version: 2, folder: unified };
  }
  if (unified) folders.pressure = { version: 2, folder: unified };
  path ??= unifiedPath;
  if (path === undefined || (folders.memory === undefined && folders.cpuacct === undefined)) return undefined;
  return { path, folders };
}

/** The root of all cgroups, as far as it is mounted here. */
export function computeRootPlace(root: string, { controllers, unified }: Hierarchies): CgroupPlace {
  const folders: { -readonly [K in Controller]?: { version: 1 | 2; folder: string } } = {};
  for (const controller of counted) {
    const own = controllers.get(controller);
    const hierarchy = own ?? unified;
    if (hierarchy?.mountedRoot === '/')
      folders[controller] = { version: own === undefined ? 2 : 1, folder: join(root, hierarchy.mountPoint) };
  }
  return { path: '/', folders };
}

/** The usual mount points; for machines whose mounts cannot be read. */
const usual = (names: string): Hierarchy => ({ mountPoint: `/sys/fs/cgroup/${names}`, mountedRoot: '/' });

function usualUnified({ controllers }: ProcessCgroups): Hierarchy {
  return { mountPoint: controllers.size === 0 ? '/sys/fs/cgroup' : '/sys/fs/cgroup/unified', mountedRoot: '/' };
}

const anyContainer = /[0-9a-f]{64}/;

/** The part of a path that ends with the container's own folder. Undefined when it is another container's. */
function ownPath(path: string, { containerId, named }: { containerId: string; named: boolean }): string | undefined {
  const at = path.indexOf(containerId);
  if (at < 0) return named || anyContainer.test(path) ? undefined : path;
  const end = path.indexOf('/', at);
  return end < 0 ? path : path.slice(0, end);
}

/** Undefined when the cgroup lies outside of what is mounted here. */
function folderOf(root: string, { mountPoint, mountedRoot }: Hierarchy, path: string): string | undefined {
  if (mountedRoot === '/') return path.startsWith('/..') ? undefined : join(root, mountPoint, path);
  if (path !== mountedRoot && !path.startsWith(`${mountedRoot}/`)) return undefined;
  return join(root, mountPoint, path.slice(mountedRoot.length));
}
