import { mkdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageError } from '../storage-error.ts';
import { syncDirectory } from './markers.ts';
import { lowBytes } from './reserve.ts';
import { openTables, type Tables } from './tables.ts';

const batchPuts = 5_000;
const batchBytes = 16 * 1024 * 1024;
const swallow = (): void => undefined;

/** Where a new file is made: in the store's own directory, so that it takes the old one's place by a rename. */
export function newFileIn(directory: string): string {
  return join(directory, 'new-file');
}

/** Removes what a process that was interrupted has left. */
export async function removeNewFile(directory: string): Promise<void> {
  await rm(newFileIn(directory), { recursive: true, force: true });
}

/**
 * Opens an empty database beside the store's own; fill it, close it, and `adoptNewFile`. Throws `no-space` on a disk
 * that is nearly full: there lmdb would not fail but die, as it maps a file that has no pages yet.
 */
export async function openNewFile(directory: string): Promise<Tables> {
  await removeNewFile(directory);
  const { bavail, bsize } = await statfs(directory);
  if (bavail * bsize < lowBytes) throw noRoom(directory);
  await mkdir(newFileIn(directory), { mode: 0o700 });
  return openTables(newFileIn(directory), { readOnly: false });
}

export function noRoom(directory: string, cause?: unknown): StorageError {
  const words = `the disk of ${directory} has no room for a new file; nothing was changed: free some space there and try again`;
  return new StorageError('no-space', words, cause === undefined ? {} : { cause });
}

/**
 * Puts the new file in the old one's place: a later open finds the one or the other, whole, also when the power fails.
 */
export async function adoptNewFile(directory: string): Promise<void> {
  await syncDirectory(newFileIn(directory));
  await rename(join(newFileIn(directory), 'data.mdb'), join(directory, 'data.mdb'));
  await syncDirectory(directory);
  await removeNewFile(directory);
}

/** One put of a new file. */
export type Put = () => Promise<boolean>;

/** Writes in transactions of a bounded size, each on disk before the next. `bytes` is what a put writes. */
export class BatchWriter {
  readonly #tables: Tables;
  #puts: Put[] = [];
  #bytes = 0;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  async add(bytes: number, put: Put): Promise<void> {
    this.#puts.push(put);
    this.#bytes += bytes;
    if (this.#puts.length >= batchPuts || this.#bytes >= batchBytes) await this.flush();
  }

  async flush(): Promise<void> {
    const puts = this.#puts;
    this.#puts = [];
    this.#bytes = 0;
    await this.#tables.root.batch(() => {
      // Every put hands out a promise of the same outcome; only that of the batch is waited for.
      for (const put of puts) put().catch(swallow);
    });
  }
}
