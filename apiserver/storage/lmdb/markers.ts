import { access, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { restoreAdvice, StorageError } from '../storage-error.ts';

/** The layout of the tables and their keys (key-layout.ts). A store with a higher number is refused. */
export const storeFormat = 2;

/**
 * Says what the directory is, in a file that can be read without opening the database. Throws `newer-format` and
 * `corrupt`.
 */
export async function ensureFormat(directory: string): Promise<void> {
  const text = await readText(join(directory, 'format'));
  if (text === undefined) {
    if (await hasDatabase(directory))
      throw new StorageError(
        'corrupt',
        `open the store ${directory}: it has a database but no file "format"; name a directory of its own, or restore it`,
      );
    await writeFormat(directory);
    return;
  }
  const format = /^berth-store (\d+)\n$/.exec(text)?.[1];
  if (format === undefined)
    throw new StorageError('corrupt', `open the store ${directory}: its file "format" is damaged; ${restoreAdvice}`);
  if (Number(format) > storeFormat)
    throw new StorageError(
      'newer-format',
      `open the store ${directory}: it has format ${format}, this version knows up to ${storeFormat}; start the newer version of berth that wrote it`,
    );
}

export function writeFormat(directory: string): Promise<void> {
  return writeSynced(directory, 'format', `berth-store ${storeFormat}\n`);
}

/** Whether there was a database here before. */
export function wasMade(directory: string): Promise<boolean> {
  return exists(join(directory, 'made'));
}

/** From now on a missing database is a loss, and no beginning. */
export async function markMade(directory: string): Promise<void> {
  if (!(await wasMade(directory))) await writeSynced(directory, 'made', '');
}

/** What the file was when it was closed: a later look tells whether it is still the same. */
export interface CleanMark {
  readonly size: number;
  /** Of the whole file. */
  readonly checksum: number;
  /** The last commit in it. */
  readonly commit: number;
}

/**
 * Reading more than this would hold up the end of the server for seconds: such a store is verified at its next start
 * instead.
 */
const maxChecksumBytes = 1024 ** 3;

/** Call when everything is on disk and closed. */
export async function markClean(directory: string, commit: number): Promise<void> {
  const size = await sizeOf(directory);
  const mark = size <= maxChecksumBytes ? { size, checksum: await checksumOf(directory), commit } : { commit };
  await writeSynced(directory, 'clean', `${JSON.stringify(mark)}\n`);
}

/**
 * What the last process noted when it closed the store; undefined: it did not get so far. Empty: it noted nothing that
 * can be used.
 */
export async function readClean(directory: string): Promise<Partial<CleanMark> | undefined> {
  const text = await readText(join(directory, 'clean'));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Partial<CleanMark>;
  } catch {
    // Of an earlier version, or damaged: the store is verified.
    return {};
  }
}

/** Whether the file is, byte for byte, what was closed. It is read as a file, so nothing in it can do harm. */
export async function isUnchanged(directory: string, { size, checksum }: Partial<CleanMark>): Promise<boolean> {
  return size !== undefined && size === (await sizeOf(directory)) && checksum === (await checksumOf(directory));
}

/** Call before the first change. */
export async function clearClean(directory: string): Promise<void> {
  await rm(join(directory, 'clean'), { force: true });
  await syncDirectory(directory);
}

export function hasDatabase(directory: string): Promise<boolean> {
  return exists(join(directory, 'data.mdb'));
}

export async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}

export async function sizeOf(directory: string): Promise<number> {
  const file = await open(join(directory, 'data.mdb'), 'r');
  try {
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

async function checksumOf(directory: string): Promise<number> {
  const file = await open(join(directory, 'data.mdb'), 'r');
  const buffer = Buffer.allocUnsafe(1024 * 1024);
  let checksum = 0;
  try {
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return checksum;
      checksum = crc32(buffer.subarray(0, bytesRead), checksum);
    }
  } finally {
    await file.close();
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

/** Whole or not at all, also when the power fails. */
export async function writeSynced(directory: string, name: string, text: string): Promise<void> {
  const path = join(directory, name);
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  await syncDirectory(directory);
}

export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
