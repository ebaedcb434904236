import { access, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageError } from '../storage-error.ts';

/** The layout of the tables. A store with a higher number is refused. */
export const storeFormat = 1;

/** Says what the directory is, in a file that can be read without opening the database. Throws `newer-format` and `corrupt`. */
export async function ensureFormat(directory: string): Promise<void> {
  const path = join(directory, 'format');
  const text = await readText(path);
  if (text === undefined) {
    if (await hasDatabase(directory))
      throw new StorageError(
        'corrupt',
        `open the store ${directory}: it has a database but no file "format"; name a directory of its own, or restore it`,
      );
    await writeSynced(directory, 'format', `berth-store ${storeFormat}\n`);
    return;
  }
  const format = /^berth-store (\d+)\n$/.exec(text)?.[1];
  if (format === undefined)
    throw new StorageError('corrupt', `open the store ${directory}: its file "format" is damaged; restore it from a backup`);
  if (Number(format) > storeFormat)
    throw new StorageError(
      'newer-format',
      `open the store ${directory}: it has format ${format}, this version knows up to ${storeFormat}; start the newer version of berth that wrote it`,
    );
}

/** Whether the last process closed the store. */
export async function wasStoppedCleanly(directory: string): Promise<boolean> {
  return (await readText(join(directory, 'clean'))) !== undefined;
}

/** Call when everything is on disk and closed. */
export async function markClean(directory: string): Promise<void> {
  await writeSynced(directory, 'clean', '');
}

/** Call before the first change. */
export async function clearClean(directory: string): Promise<void> {
  await rm(join(directory, 'clean'), { force: true });
  await syncDirectory(directory);
}

export async function hasDatabase(directory: string): Promise<boolean> {
  try {
    await access(join(directory, 'data.mdb'));
    return true;
  } catch {
    return false;
  }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StorageError('failed', `read ${path}: ${(error as Error).message}`, { cause: error });
  }
}

async function writeSynced(directory: string, name: string, text: string): Promise<void> {
  const file = await open(join(directory, name), 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncDirectory(directory);
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
