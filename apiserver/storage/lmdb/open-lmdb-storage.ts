import { mkdir } from 'node:fs/promises';
import { type StorageClock, systemStorageClock } from '../clock.ts';
import { decodeRecord } from '../record.ts';
import type { Storage } from '../storage.ts';
import { restoreAdvice, StorageError } from '../storage-error.ts';
import { createWatcherHub, defaultWatcherLimits, type WatcherLimits } from '../watchers.ts';
import { Journal } from './journal.ts';
import { defaultLimits, type JournalLimits } from './limits.ts';
import { LmdbBackup } from './lmdb-backup.ts';
import { LmdbHistory } from './lmdb-history.ts';
import { LmdbStorage } from './lmdb-storage.ts';
import { type OnCommit, readUsage, timeCommits } from './lmdb-usage.ts';
import { type DirectoryLock, lockDirectory } from './lock.ts';
import { LogTimes } from './log-times.ts';
import { MappedPages } from './mapped-pages.ts';
import { clearClean, ensureFormat, markClean, markMade } from './markers.ts';
import { RelaxedKeys } from './relaxed-keys.ts';
import { Reserve } from './reserve.ts';
import { openPresent } from './shrink.ts';
import { ensureSound, type Notice } from './soundness.ts';
import { readHead, readNewestRevision, readState, type Tables } from './tables.ts';

export interface LmdbStorageOptions {
  /** Made if it does not exist; belongs to the store alone. */
  readonly directory: string;
  readonly limits?: Partial<JournalLimits>;
  readonly watcherLimits?: WatcherLimits;
  readonly clock?: StorageClock;
  /** Free bytes of the directory's disk; by default from statfs. */
  readonly freeBytes?: (directory: string) => number;
  /** Bytes of files that the process has mapped and in memory; by default from /proc. */
  readonly mappedBytes?: () => number;
  readonly onCommit?: OnCommit;
  /** Hears what was done to the store while it was opened. */
  readonly notice?: Notice;
}

/**
 * Opens or makes the store in a directory: locks it, checks its format, verifies it in a child process unless it is as
 * the last process closed it, and only then maps the file; one that is mostly empty is shrunk. Throws `locked`,
 * `newer-format`, `corrupt` and `failed`.
 */
export async function openLmdbStorage(options: LmdbStorageOptions): Promise<Storage> {
  const { directory, notice = () => undefined } = options;
  const lock = await makeAndLock(directory);
  try {
    await ensureFormat(directory);
    await ensureSound(directory, notice);
    await unlessFull(markMade(directory));
    await clearClean(directory);
    const tables = await openPresent(directory, notice);
    await new Reserve({ tables, directory, clock: options.clock ?? systemStorageClock, freeBytes: options.freeBytes }).prepare();
    return assembleLmdbStorage(options, lock, tables);
  } catch (error) {
    await lock.release();
    throw error instanceof StorageError
      ? error
      : new StorageError('failed', `open the store ${directory}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        });
  }
}

/** On a full disk a mark is missing, and the next start looks more closely. */
async function unlessFull(writing: Promise<void>): Promise<void> {
  try {
    await writing;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
  }
}

async function makeAndLock(directory: string): Promise<DirectoryLock> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StorageError('failed', `make the store's directory ${directory}: ${(error as Error).message}`, { cause: error });
  }
  return lockDirectory(directory);
}

/** The store over tables that are open; for tests that stand between it and the disk. */
export function assembleLmdbStorage(options: LmdbStorageOptions, lock: DirectoryLock, tables: Tables): Storage {
  const { directory, clock = systemStorageClock } = options;
  const hub = createWatcherHub(options.watcherLimits ?? defaultWatcherLimits);
  const relaxed = loadRelaxed(tables);
  const state = readState(tables);
  const newest = readNewestRevision(tables);
  if (newest > state.reserved)
    throw new StorageError(
      'corrupt',
      `open the store ${directory}: its log reaches ${newest}, its state ${state.reserved}; ${restoreAdvice}`,
    );
  const limits = { ...defaultLimits, ...options.limits };
  const reserve = new Reserve({ tables, directory, clock, freeBytes: options.freeBytes });
  const times = new LogTimes(tables, state.times, clock.now());
  const pages = new MappedPages({ tables, clock, mappedBytes: options.mappedBytes });
  const journal = new Journal({
    tables: timeCommits(tables, options.onCommit),
    directory,
    limits,
    clock,
    relaxed,
    hub,
    reserve,
    times,
    pages,
    state,
  });
  const history = new LmdbHistory({ tables, journal, times });
  const release = async (clean: boolean): Promise<void> => {
    try {
      const { commit } = readState(tables);
      await tables.root.close();
      if (clean) await unlessFull(markClean(directory, commit));
    } finally {
      await lock.release();
    }
  };
  const backup = new LmdbBackup({ tables, journal, relaxed, clock });
  const usage = () => readUsage(tables, directory);
  return new LmdbStorage({ tables, journal, history, backup, usage, relaxed, hub, clock, release });
}

function loadRelaxed(tables: Tables): RelaxedKeys {
  const relaxed = new RelaxedKeys();
  for (const { key, value } of tables.relaxed.getRange()) {
    const { type, revision, bytes, durability } = decodeRecord(value, key);
    relaxed.load({ type, key, revision, bytes, durability }, value.length);
    // A crash lost the removal of a key that has since been created as a synced one.
    if (readHead(tables, key)?.deleted === false) relaxed.drop(key);
  }
  return relaxed;
}
