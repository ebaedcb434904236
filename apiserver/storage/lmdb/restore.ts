import { copyFile, link, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type BackupHeader, type ReadBackup, readBackup } from '../backup/backup-format.ts';
import { keyLayout, presentKey } from '../key-layout.ts';
import { encodeRecord, type StorageRecord } from '../record.ts';
import { StorageError } from '../storage-error.ts';
import { encodeHead } from './head.ts';
import { lockDirectory } from './lock.ts';
import { clearClean, exists, hasDatabase, markClean, markMade, syncDirectory, writeFormat } from './markers.ts';
import { adoptNewFile, BatchWriter, newFileIn, noRoom, openNewFile, removeNewFile } from './new-file.ts';
import { emptyState, encodeState, type StoreState } from './state.ts';
import type { Tables } from './tables.ts';
import { runInChild } from './verify.ts';
import { translateWriteError } from './write-error.ts';

export interface RestoreOptions {
  /** Where the store is to be. */
  readonly directory: string;
  /** The bytes of the backup, and what it is called in messages. */
  readonly backup: AsyncIterable<Buffer>;
  readonly name: string;
  /** A store that is there is moved aside. */
  readonly force: boolean;
  readonly now: Date;
  /** Sees each record before anything is touched; throws for one that this installation could not read. */
  readonly check?: ((record: StorageRecord) => void) | undefined;
}

export interface Restored {
  readonly header: BackupHeader;
  readonly objects: number;
  /** Where the store that was there is now. */
  readonly aside: string | undefined;
  /** That one could not be read: how far its revisions went is not known. */
  readonly isUnread: boolean;
}

/**
 * Makes a store of a backup. The whole backup is read, checked and written into a new file, which is verified and then
 * takes its place by a rename: until then nothing is touched, and whenever the power fails there is the old store or
 * the new one. Throws `locked`, `exists` (without `force`), `corrupt` and `newer-format` (the backup), `no-key`
 * (`check`), `no-space` and `failed`.
 */
export async function restoreStore({ directory, backup, name, force, now, check }: RestoreOptions): Promise<Restored> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const lock = await lockDirectory(directory);
  try {
    const isTaken = await hasDatabase(directory);
    if (isTaken && !force)
      throw new StorageError(
        'exists',
        `restore into ${directory}: there is a store already; --force moves it aside and puts the backup in its place`,
      );
    const read = await readBackup(backup, name);
    const { reached, isUnread } = isTaken ? await readReached(directory) : { reached: 0, isUnread: false };
    const revision = computeRestoredRevision([read.header.revision, reached], now);
    const { header, state } = await writeNewFile(directory, read, { revision, now, check });
    await runInChild(newFileIn(directory), 'verify');
    const aside = isTaken ? await keepAside(directory, now) : undefined;
    if (!isTaken) await writeFormat(directory);
    await markMade(directory);
    await clearClean(directory);
    await adoptNewFile(directory);
    // Only now: a store of a newer version must not look like one of this.
    if (isTaken) await writeFormat(directory);
    await markClean(directory, state.commit);
    await syncDirectory(dirname(directory));
    return { header, objects: state.live + state.relaxed, aside, isUnread };
  } catch (error) {
    if (error instanceof StorageError) throw error;
    throw new StorageError('failed', `restore ${name} into ${directory}: ${(error as Error).message}`, { cause: error });
  } finally {
    await removeNewFile(directory);
    await lock.release();
  }
}

/** Beginning of the count below. */
const epoch = Date.UTC(2020, 0, 1);
/** Several times what a store can write for hours on end. */
const revisionsPerMs = 50;
/** The year 2109: a clock that is beyond is wrong. A record has room for twice as much. */
const mostByTime = 2 ** 47;
const leastSkip = 1_000_000_000;
/** 69 years. */
const mostElapsedMs = 2 ** 41;

/**
 * Where the counter of a restored store goes on: above everything that any store made of this backup or before it can
 * have reached, so that no revision is used twice and a version from before the restore is refused as forgotten. That
 * is the time, at a pace that no store keeps up, so that each restore has a number of its own, whatever became of the
 * stores before. `known` are revisions that were reached: the backup's, and that of the store that is moved aside.
 * Where the time is not above them, a clock is or was wrong: then it goes on far above them, and still elsewhere at
 * each moment.
 */
export function computeRestoredRevision(known: readonly number[], now: Date): number {
  const elapsed = now.getTime() - epoch;
  const byTime = elapsed * revisionsPerMs;
  const highest = Math.max(...known);
  if (byTime > highest && byTime < mostByTime) return byTime;
  return highest + leastSkip + Math.min(Math.max(elapsed, 0), mostElapsedMs);
}

/**
 * The highest revision that a store may have given out. It may be damaged, as that is why one restores: then
 * `isUnread`, and nothing is known.
 */
async function readReached(directory: string): Promise<{ reached: number; isUnread: boolean }> {
  try {
    return { reached: (await runInChild(directory, 'verify')).reserved, isUnread: false };
  } catch (error) {
    if (error instanceof StorageError) return { reached: 0, isUnread: true };
    throw error;
  }
}

async function writeNewFile(
  directory: string,
  { header, records }: ReadBackup,
  { revision, now, check }: { readonly revision: number } & Pick<RestoreOptions, 'now' | 'check'>,
): Promise<{ header: BackupHeader; state: StoreState }> {
  const tables = await openNewFile(directory);
  try {
    const at = now.getTime();
    const times = { compactedAt: at, steps: [], last: at, floor: 0 };
    const start = { ...emptyState, commit: 1, revision, reserved: revision, compacted: revision, swept: revision, times };
    const state = await writeRecords(tables, header.layout < keyLayout ? presentRecords(records) : records, { start, check });
    return { header, state };
  } catch (error) {
    if (error instanceof StorageError) throw error;
    const { code, message } = await translateWriteError(error, directory);
    throw code === 'no-space' ? noRoom(directory, error) : new StorageError(code, message, { cause: error });
  } finally {
    await tables.root.close();
  }
}

/** Those of a backup of an older layout. */
async function* presentRecords(records: AsyncIterable<StorageRecord>): AsyncGenerator<StorageRecord> {
  for await (const record of records) yield { ...record, key: presentKey(record.key) };
}

async function writeRecords(
  tables: Tables,
  records: AsyncIterable<StorageRecord>,
  { start, check }: { readonly start: StoreState } & Pick<RestoreOptions, 'check'>,
): Promise<StoreState> {
  const writer = new BatchWriter(tables);
  const counts = { live: 0, liveBytes: 0, records: 0, logBytes: 0, relaxed: 0, relaxedBytes: 0 };
  for await (const record of records) {
    const { key, revision, durability } = record;
    check?.(record);
    // What came before it is forgotten.
    const bytes = encodeRecord({ ...record, previous: 0 });
    if (durability === 'relaxed') {
      counts.relaxed += 1;
      counts.relaxedBytes += bytes.length;
      await writer.add(bytes.length, () => tables.relaxed.put(key, bytes));
      continue;
    }
    counts.live += 1;
    counts.liveBytes += bytes.length;
    counts.records += 1;
    counts.logBytes += bytes.length;
    await writer.add(bytes.length, () => tables.log.put(revision, bytes));
    await writer.add(0, () => tables.heads.put(key, encodeHead({ revision, size: bytes.length, deleted: false })));
  }
  const state = { ...start, ...counts };
  await writer.add(0, () => tables.meta.put('state', encodeState(state)));
  await writer.flush();
  return state;
}

/**
 * The old store in a folder of its own beside the store, as a second name of the same file: nothing is copied, and
 * nothing is missing for a moment.
 */
async function keepAside(directory: string, now: Date): Promise<string> {
  const stamp = now.toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '');
  const aside = await makeFolder(`${directory}.before-restore-${stamp}`);
  await link(join(directory, 'data.mdb'), join(aside, 'data.mdb'));
  for (const mark of ['format', 'made', 'clean'])
    if (await exists(join(directory, mark))) await copyFile(join(directory, mark), join(aside, mark));
  await syncDirectory(aside);
  await syncDirectory(dirname(aside));
  return aside;
}

/** Of that name; with a number behind it when the same second has made one already. */
async function makeFolder(name: string, count = 1): Promise<string> {
  const folder = count === 1 ? name : `${name}-${count}`;
  try {
    await mkdir(folder, { mode: 0o700 });
    return folder;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return makeFolder(name, count + 1);
  }
}
