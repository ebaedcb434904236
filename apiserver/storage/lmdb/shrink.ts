import { statfs } from 'node:fs/promises';
import { keyLayout } from '../key-layout.ts';
import { StorageError } from '../storage-error.ts';
import { lockDirectory } from './lock.ts';
import { ensureFormat, hasDatabase, markClean, sizeOf } from './markers.ts';
import { ensureSound, type Notice, replaceByCopy } from './soundness.ts';
import type { StoreState } from './state.ts';
import { openTables, readState, type Tables } from './tables.ts';

const mebi = 1024 * 1024;
/** A smaller file is not worth the time. */
const leastFileBytes = 32 * mebi;
/** More than this takes long: it is copied on request. */
const mostStoredBytes = 256 * mebi;
/**
 * What a file may need for so many stored bytes: a record that is a little larger than a page takes two; the reserve
 * comes on top.
 */
const fileBytesFor = (storedBytes: number): number => 2 * storedBytes + 8 * mebi;

/** Whether a copy is sure to have at most half the size. */
export function decideShrink(fileBytes: number, { logBytes, relaxedBytes }: StoreState): boolean {
  const stored = logBytes + relaxedBytes;
  return fileBytes >= leastFileBytes && stored <= mostStoredBytes && fileBytesFor(stored) <= fileBytes / 2;
}

/**
 * Opens the tables. Keys of an older layout are brought to the present one before; that cannot be left out, so that it
 * throws `no-space` on a full disk, with the store as it was. A file that is mostly empty is replaced by a copy; where
 * that fails, the file stays as it is.
 */
export async function openPresent(directory: string, notice: Notice): Promise<Tables> {
  const tables = openTables(directory, { readOnly: false });
  const before = await sizeOf(directory);
  const state = readState(tables);
  if (state.layout < keyLayout) {
    await tables.root.close();
    await replaceByCopy(directory);
    notice('the store was brought to the present format; versions of berth before this one refuse it from now on');
    return openTables(directory, { readOnly: false });
  }
  if (!decideShrink(before, state) || !(await hasRoom(directory, state))) return tables;
  await tables.root.close();
  try {
    await replaceByCopy(directory);
    notice(`the file of the store was mostly empty: copied, ${inMebi(before)} became ${inMebi(await sizeOf(directory))}`);
  } catch (error) {
    if (!(error instanceof StorageError) || error.code === 'corrupt') throw error;
    notice(`cannot shrink the file of the store, it stays as it is: ${error.message}`);
  }
  return openTables(directory, { readOnly: false });
}

async function hasRoom(directory: string, { logBytes, relaxedBytes }: StoreState): Promise<boolean> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize > 2 * fileBytesFor(logBytes + relaxedBytes);
}

/** Bytes of the file before and after. */
export interface Shrunk {
  readonly before: number;
  readonly after: number;
}

/** Compacts the file of a store that is not open. Throws as `openLmdbStorage`, and `no-space`. */
export async function shrinkStore(directory: string, notice: Notice): Promise<Shrunk> {
  if (!(await hasDatabase(directory))) throw new StorageError('failed', `there is no store in ${directory}`);
  const lock = await lockDirectory(directory);
  try {
    await ensureFormat(directory);
    await ensureSound(directory, notice);
    const before = await sizeOf(directory);
    const { commit } = await replaceByCopy(directory);
    await markClean(directory, commit);
    return { before, after: await sizeOf(directory) };
  } finally {
    await lock.release();
  }
}

function inMebi(bytes: number): string {
  return `${Math.ceil(bytes / mebi)} MiB`;
}
