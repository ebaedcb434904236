import { execFile } from 'node:child_process';
import { readFile, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { promisify } from 'node:util';
import { parseMountInfo } from '../machine/mount-table.ts';
import { isMissing } from './atomic-files.ts';

/** File systems that the agent mounts and unmounts. */
export interface Mounts {
  /** Where file systems are mounted now, in the order they were. */
  list(): Promise<string[]>;
  mountTmpfs(path: string, sizeBytes: number | undefined): Promise<void>;
  /** Mounts a file or folder once more; `source` is used as it is, links in it are not resolved beforehand. */
  bind(source: string, target: string): Promise<void>;
  unmount(path: string): Promise<void>;
}

const run = promisify(execFile);
const timeout = 10_000;

/**
 * The machine's own. Node.js has no calls for this: the system's programs do it, only where a volume lives in memory.
 */
export function createMounts(mountInfo = '/proc/self/mountinfo'): Mounts {
  return {
    list: async () => parseMountInfo(await readFile(mountInfo, 'utf8')).map(({ mountPoint }) => mountPoint),
    async mountTmpfs(path, sizeBytes) {
      // As in Kubernetes: open to all users, who may not delete each other's files.
      const options = ['mode=1777', 'nosuid', 'nodev', ...(sizeBytes === undefined ? [] : [`size=${sizeBytes}`])];
      await run('mount', ['-t', 'tmpfs', '-o', options.join(','), 'berth', path], { timeout });
    },
    async bind(source, target) {
      await run('mount', ['--no-canonicalize', '--bind', source, target], { timeout });
    },
    async unmount(path) {
      try {
        await run('umount', [path], { timeout });
      } catch {
        // Still in use: detached from the tree now, freed by the kernel with its last user.
        await run('umount', ['-l', path], { timeout });
      }
    },
  };
}

/**
 * The folder as the kernel knows it: the data directory may be reached through a link. Undefined when it is not there.
 */
export async function realPathOf(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Unmounts what is mounted on a folder and below it. Throws when something stays: then nothing may be removed there.
 */
export async function unmountBelow(mounts: Pick<Mounts, 'list' | 'unmount'>, folder: string): Promise<void> {
  const mountsBelow = async (): Promise<string[]> => {
    const real = await realPathOf(folder);
    return real === undefined ? [] : (await mounts.list()).filter((path) => path === real || path.startsWith(real + sep));
  };
  // The last mounted may stand inside of an earlier one.
  for (const path of (await mountsBelow()).reverse()) await mounts.unmount(path);
  const left = await mountsBelow();
  if (left.length > 0) throw new Error(`${left[0]} is still mounted`);
}
