import type { Stats } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { isMissing } from './atomic-files.ts';

/** The types of a host path with what must be there; Kubernetes' names. */
const checks: Readonly<Record<string, { readonly is: (stats: Stats) => boolean; readonly what: string }>> = {
  DirectoryOrCreate: { is: (stats) => stats.isDirectory(), what: 'a directory' },
  Directory: { is: (stats) => stats.isDirectory(), what: 'a directory' },
  FileOrCreate: { is: (stats) => stats.isFile(), what: 'a file' },
  File: { is: (stats) => stats.isFile(), what: 'a file' },
  Socket: { is: (stats) => stats.isSocket(), what: 'a socket' },
  CharDevice: { is: (stats) => stats.isCharacterDevice(), what: 'a character device' },
  BlockDevice: { is: (stats) => stats.isBlockDevice(), what: 'a block device' },
};

/**
 * Checks, and where the type says so creates, a path of the machine. Without a type nothing is checked; a path that is
 * not there becomes a folder, as with every container runtime of Kubernetes. Throws when its type does not match.
 */
export async function ensureHostPath(path: string, type: string): Promise<void> {
  if (type === '') return createDirectory(path);
  const check = checks[type];
  if (check === undefined) throw new Error(`host path ${path}: unknown type "${type}"`);
  if (type === 'DirectoryOrCreate') await createDirectory(path);
  if (type === 'FileOrCreate') await createFile(path);
  const stats = await statOrNothing(path);
  if (stats === undefined) throw new Error(`host path ${path} does not exist`);
  if (!check.is(stats)) throw new Error(`host path ${path} is not ${check.what}`);
}

async function createDirectory(path: string): Promise<void> {
  if ((await statOrNothing(path)) === undefined) await mkdir(path, { recursive: true, mode: 0o755 });
}

async function createFile(path: string): Promise<void> {
  if ((await statOrNothing(path)) !== undefined) return;
  const file = await open(path, 'a', 0o644);
  await file.close();
}

async function statOrNothing(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
