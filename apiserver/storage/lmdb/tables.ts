import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { isPossiblePrefix, prefixEnd } from '../checks.ts';
import { decodeRecord, type StorageRecord } from '../record.ts';
import { restoreAdvice, StorageError } from '../storage-error.ts';
import { decodeHead, type Head } from './head.ts';
import { decodeState, emptyState, type StoreState } from './state.ts';

/**
 * The file's tables. Values are bytes; reads return copies (`getBinaryFast` would hand out a buffer that the next read
 * overwrites).
 *   log      revision -> record: every synced write since the last compaction, and the newest of each key
 *   heads    key -> where its newest record stands in the log
 *   relaxed  key -> record: the newest state of each relaxed key, as of the last lazy write
 *   meta     'state' -> StoreState
 */
export interface Tables {
  readonly root: Pick<RootDatabase<Buffer, string>, 'batch' | 'close' | 'resetReadTxn'>;
  readonly log: AppendOnlyLog;
  readonly heads: Database<Buffer, string>;
  readonly relaxed: Database<Buffer, string>;
  readonly meta: Database<Buffer, string>;
  /**
   * Closes the file and opens it again, so that no page of it is mapped: lmdb keeps what was ever looked at. Call it in
   * a turn of the event loop of its own, while nothing is written: everything happens before other code runs again.
   */
  remap(): Promise<void>;
}

type File = Omit<Tables, 'remap'>;

/** lmdb's own types leave out that an asynchronous put takes these options too. */
export interface AppendOnlyLog extends Omit<Database<Buffer, number>, 'put'> {
  /**
   * `append` fills the pages of the tree to the last: a third less file. lmdb drops a revision that is not the highest
   * so far, in silence.
   */
  put(revision: number, record: Buffer, options?: { readonly append: true }): Promise<boolean>;
}

/** Of new files; lmdb's own types leave it out. */
const privateFiles = { permissionsMode: 0o600 } as object;

/**
 * Address space for the file, and no memory: more than it can grow to. When the file outgrows it, lmdb maps all of it
 * again and keeps the old mapping, so that a page counts several times; it begins with 128 KiB by itself.
 */
const mapBytes = 16 * 1024 ** 3;

/** The tables of a store's file, see `openFile`. One that cannot be opened again is tried anew at each access. */
export function openTables(directory: string, options: { readonly readOnly: boolean }): Tables {
  let file: File | undefined = openFile(directory, options);
  const inode = inodeIn(directory);
  const opened = (): File => {
    if (file) return file;
    // lmdb would make an empty one.
    if (inodeIn(directory) !== inode) throw new StorageError('failed', `open the store ${directory}: its file has been replaced`);
    file = openFile(directory, options);
    return file;
  };
  return {
    get root() {
      return opened().root;
    },
    get log() {
      return opened().log;
    },
    get heads() {
      return opened().heads;
    },
    get relaxed() {
      return opened().relaxed;
    },
    get meta() {
      return opened().meta;
    },
    async remap() {
      // What is open goes on where its file is gone.
      if (inodeIn(directory) !== inode) return;
      await opened().root.close();
      file = undefined;
      opened();
    },
  };
}

/** Which file the directory has; undefined for none. */
function inodeIn(directory: string): number | undefined {
  return statSync(join(directory, 'data.mdb'), { throwIfNoEntry: false })?.ino;
}

/** The same tables, whose commits take another way. */
export function withBatch(tables: Tables, batch: Tables['root']['batch']): Tables {
  const root = { batch, close: () => tables.root.close(), resetReadTxn: () => tables.root.resetReadTxn() };
  return Object.create(tables, { root: { value: root } }) as Tables;
}

/**
 * `overlappingSync` is off: then a commit is fdatasync of the data and a write of the meta page through a descriptor
 * opened with O_DSYNC, both before the promise of the put resolves, and a crash of the machine leaves exactly the last
 * such commit. `eventTurnBatching` is off: the journal batches by itself, and lmdb's own batches reject a promise that
 * cannot be caught when a commit fails, which would end the process on a full disk.
 */
function openFile(directory: string, options: { readonly readOnly: boolean }): File {
  const root = open<Buffer, string>({
    path: directory,
    ...privateFiles,
    noSubdir: false,
    overlappingSync: false,
    eventTurnBatching: false,
    encoding: 'binary',
    readOnly: options.readOnly,
    mapSize: mapBytes,
  });
  return {
    root,
    log: root.openDB<Buffer, number>({ name: 'log', encoding: 'binary' }) as unknown as AppendOnlyLog,
    heads: root.openDB<Buffer, string>({ name: 'heads', encoding: 'binary' }),
    relaxed: root.openDB<Buffer, string>({ name: 'relaxed', encoding: 'binary' }),
    meta: root.openDB<Buffer, string>({ name: 'meta', encoding: 'binary' }),
  };
}

export function readState(tables: Tables): StoreState {
  const bytes = tables.meta.get('state');
  return bytes ? decodeState(bytes) : emptyState;
}

/** The newest revision in the log; 0: it is empty. */
export function readNewestRevision(tables: Tables): number {
  for (const revision of tables.log.getKeys({ reverse: true, limit: 1 })) return revision;
  return 0;
}

export function readHead(tables: Tables, key: string): Head | undefined {
  const bytes = tables.heads.get(key);
  return bytes && decodeHead(bytes);
}

export function readRecord(tables: Tables, revision: number): StorageRecord | undefined {
  const bytes = tables.log.get(revision);
  return bytes && decodeRecord(bytes, `revision ${revision}`);
}

/** The record that a head points to. */
export function readHeadRecord(tables: Tables, key: string, head: Head): StorageRecord {
  const record = readRecord(tables, head.revision);
  if (!record || record.key !== key)
    throw new StorageError('corrupt', `read ${key}: the log has no record of revision ${head.revision}; ${restoreAdvice}`);
  return record;
}

/** The heads from `start` on that have the prefix, in order, with deleted ones. */
export function* readHeads(tables: Tables, prefix: string, start: string): Generator<{ key: string; head: Head }> {
  // LMDB fails with a key that is too long.
  if (!isPossiblePrefix(prefix)) return;
  for (const { key, value } of tables.heads.getRange({ start, end: prefixEnd(prefix) })) yield { key, head: decodeHead(value) };
}

/**
 * The record of a key as of `revision`, found by walking back from its newest write; undefined when the key did not
 * exist then. A record that is gone was a deletion at or before the last compaction.
 */
export function readRecordAt(tables: Tables, key: string, head: Head, revision: number): StorageRecord | undefined {
  let record: StorageRecord | undefined = readHeadRecord(tables, key, head);
  while (record && record.revision > revision) record = record.previous === 0 ? undefined : readRecord(tables, record.previous);
  return record?.type === 'put' ? record : undefined;
}

/** Up to `limit` log records with from < revision <= upTo, in order. */
export function readLog(tables: Tables, from: number, upTo: number, limit: number): StorageRecord[] {
  const records: StorageRecord[] = [];
  for (const { key, value } of tables.log.getRange({ start: from + 1, end: upTo + 1, limit }))
    records.push(decodeRecord(value, `revision ${key}`));
  return records;
}
