import { randomBytes } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readdir, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { VolumeFile } from './volume-files.ts';

/*
 * As in Kubernetes: the files live in a folder of their own, "..data" is a link to it, and what a container sees are
 * links through "..data". An update writes a new folder beside the old one and swings "..data" over with one rename:
 * readers see all old or all new files.
 *
 *   volume/..1a2b3c/key      the file
 *   volume/..data            -> ..1a2b3c
 *   volume/key               -> ..data/key
 */
const current = '..data';
const next = '..data_next';
const folderMode = 0o755;

/**
 * Makes a volume show exactly these files. Writes no file when they are there already, but finishes what was
 * interrupted after that. `prepare` is called with a new folder before it is visible. Returns whether something
 * changed.
 */
export async function writeAtomically(
  volume: string,
  files: readonly VolumeFile[],
  prepare?: (folder: string) => Promise<void> | undefined,
): Promise<boolean> {
  await mkdir(volume, { recursive: true, mode: folderMode });
  const old = await readLinkOrNothing(join(volume, current));
  const isThere = old !== undefined && (await holds(join(volume, old), files));
  const shown = isThere ? old : `..${randomBytes(8).toString('hex')}`;
  if (!isThere)
    await swingOver(volume, shown, async (folder) => {
      await writeFolder(folder, files);
      await prepare?.(folder);
    });
  await showOnly(volume, new Set(files.map((file) => firstPart(file.path))));
  await removeOthers(volume, shown);
  return !isThere;
}

/** Whether a volume has been made, with whatever files. */
export async function isMade(volume: string): Promise<boolean> {
  return (await readLinkOrNothing(join(volume, current))) !== undefined;
}

async function swingOver(volume: string, fresh: string, write: (folder: string) => Promise<void>): Promise<void> {
  const folder = join(volume, fresh);
  try {
    await mkdir(folder, { mode: folderMode });
    await write(folder);
  } catch (error) {
    // A disk that is full is not filled further by each new attempt.
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  await rm(join(volume, next), { force: true });
  await symlink(fresh, join(volume, next));
  await rename(join(volume, next), join(volume, current));
}

async function writeFolder(folder: string, files: readonly VolumeFile[]): Promise<void> {
  for (const file of files) {
    const path = join(folder, file.path);
    await mkdir(dirname(path), { recursive: true, mode: folderMode });
    await writeFile(path, file.data, { mode: 0o600 });
    // The process's umask cuts the mode given on creation.
    await chmod(path, file.mode);
    if (file.uid !== undefined) await chown(path, file.uid, -1);
  }
}

async function showOnly(volume: string, names: ReadonlySet<string>): Promise<void> {
  const shown = new Set((await readdir(volume)).filter((name) => !name.startsWith('..')));
  for (const name of names) if (!shown.has(name)) await symlink(join(current, name), join(volume, name));
  for (const name of shown) if (!names.has(name)) await rm(join(volume, name), { recursive: true, force: true });
}

/** Folders of earlier versions, also of writes that a crash interrupted. */
async function removeOthers(volume: string, fresh: string): Promise<void> {
  for (const name of await readdir(volume)) {
    if (name.startsWith('..') && name !== current && name !== fresh)
      await rm(join(volume, name), { recursive: true, force: true });
  }
}

async function holds(folder: string, files: readonly VolumeFile[]): Promise<boolean> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const present = entries.filter((entry) => !entry.isDirectory()).length;
    if (present !== new Set(files.map((file) => file.path)).size) return false;
    for (const file of files) {
      const path = join(folder, file.path);
      const stats = await lstat(path);
      const isOwned = file.uid === undefined || stats.uid === file.uid;
      if (!stats.isFile() || !isOwned || (stats.mode & 0o7777) !== file.mode) return false;
      if (!(await readFile(path)).equals(file.data)) return false;
    }
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function readLinkOrNothing(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function firstPart(path: string): string {
  return path.split('/', 1)[0] ?? path;
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
