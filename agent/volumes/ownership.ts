import { constants } from 'node:fs';
import { chmod, chown, type FileHandle, open, opendir } from 'node:fs/promises';
import type { Pod } from '../../api/generated/types.ts';
import { isMissing } from './atomic-files.ts';

/** The group that owns a volume's files: the pod's fsGroup. */
export interface Ownership {
  readonly gid: number;
  /** fsGroupChangePolicy OnRootMismatch: skips a volume whose root has the right owner and mode. */
  readonly onRootMismatch: boolean;
}

/** Undefined when the pod has no fsGroup: its volumes keep the owner they have. */
export function ownershipOf(pod: Pod): Ownership | undefined {
  const { fsGroup, fsGroupChangePolicy } = pod.spec?.securityContext ?? {};
  return fsGroup === undefined ? undefined : { gid: fsGroup, onRootMismatch: fsGroupChangePolicy === 'OnRootMismatch' };
}

const setGroupId = 0o2000;
const groupMayEnter = 0o110;
const permissionBits = 0o7777;

/**
 * The permissions of a file or folder that belongs to the group, as Kubernetes gives them: the group may do what the
 * volume allows, and what is made in a folder belongs to the group too.
 */
export function modeForGroup(mode: number, kind: 'file' | 'directory', readOnly: boolean): number {
  const file = (mode & permissionBits) | (readOnly ? 0o440 : 0o660);
  return kind === 'file' ? file : file | setGroupId | groupMayEnter;
}

// Not among Node.js' constants: a handle for an inode itself, which opens no device and waits for no pipe.
const handleOnly = 0o10000000;
const flags = handleOnly | constants.O_NOFOLLOW;
/** Deeper than any honest tree; each level holds a file descriptor. */
const deepest = 500;

interface Walk extends Ownership {
  readonly readOnly: boolean;
  /** The volume's own file system: what is mounted inside of it is not the volume's. */
  readonly device: number;
}

/**
 * Gives a volume to the group. A container may change the tree meanwhile: everything is reached through handles of its
 * own parents, so that no link, however it comes and goes, leads out of the volume. Throws what the file system says.
 */
export async function ensureOwnership(root: string, ownership: Ownership, readOnly = false): Promise<void> {
  const handle = await open(root, flags | constants.O_DIRECTORY);
  try {
    const stats = await handle.stat();
    const right =
      stats.gid === ownership.gid && (stats.mode & permissionBits) === modeForGroup(stats.mode, 'directory', readOnly);
    if (right && ownership.onRootMismatch) return;
    await give(handle, { ...ownership, readOnly, device: stats.dev }, 0);
  } finally {
    await handle.close();
  }
}

/** The children first: a walk that is cut short leaves a root that does not look done. */
async function give(handle: FileHandle, walk: Walk, depth: number): Promise<void> {
  const path = `/proc/self/fd/${handle.fd}`;
  const stats = await handle.stat();
  if (stats.dev !== walk.device) return;
  if (stats.isDirectory()) {
    if (depth === deepest) throw new Error(`change owner: folders are nested deeper than ${deepest}`);
    // Not all names at once: a container may have made millions of files.
    for await (const { name } of await opendir(path)) await giveChild(`${path}/${name}`, walk, depth + 1);
  }
  if (stats.gid !== walk.gid) await chown(path, -1, walk.gid);
  if (stats.isSymbolicLink()) return;
  const mode = modeForGroup(stats.mode, stats.isDirectory() ? 'directory' : 'file', walk.readOnly);
  // A change of the group takes set-user-ID bits away: they are given back.
  if (mode !== (stats.mode & permissionBits) || stats.gid !== walk.gid) await chmod(path, mode);
}

async function giveChild(path: string, walk: Walk, depth: number): Promise<void> {
  try {
    const handle = await open(path, flags);
    try {
      await give(handle, walk, depth);
    } finally {
      await handle.close();
    }
  } catch (error) {
    // Removed by a container in the meantime.
    if (!isMissing(error)) throw error;
  }
}
