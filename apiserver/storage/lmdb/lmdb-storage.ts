import type { BackupSource } from '../backup/backup-source.ts';
import {
  alreadyExists,
  checkKey,
  checkRevision,
  checkWrite,
  listStart,
  mismatch,
  notFound,
  revisionRefusal,
  wrongDurability,
} from '../checks.ts';
import type { StorageClock } from '../clock.ts';
import { encodeRecord, type StorageRecord } from '../record.ts';
import { RestingEvent } from '../resting-event.ts';
import type { ListOptions, Storage, StorageEvent, StorageUsage, StoredObject, StoredPage, Write } from '../storage.ts';
import type { StorageHistory } from '../storage-history.ts';
import { readWatch, type WatcherHub } from '../watchers.ts';
import type { Journal } from './journal.ts';
import type { DecidedHead } from './pending-write.ts';
import { translateReadError } from './read-error.ts';
import type { RelaxedKeys } from './relaxed-keys.ts';
import { readHead, readHeadRecord, readHeads, readLog, readRecordAt, type Tables } from './tables.ts';

/** How many log records a watch reads at a time while it catches up. */
const historyChunk = 500;

/** Storage over an opened directory: reads are synchronous looks into the memory map, writes go through the journal. */
export class LmdbStorage implements Storage {
  readonly history: StorageHistory;
  readonly backup: BackupSource;
  readonly usage: () => StorageUsage;
  readonly #tables: Tables;
  readonly #journal: Journal;
  readonly #relaxed: RelaxedKeys;
  readonly #hub: WatcherHub;
  readonly #clock: StorageClock;
  readonly #release: (clean: boolean) => Promise<void>;
  #closing: Promise<void> | undefined;

  constructor(parts: {
    readonly tables: Tables;
    readonly journal: Journal;
    readonly history: StorageHistory;
    readonly backup: BackupSource;
    readonly usage: () => StorageUsage;
    readonly relaxed: RelaxedKeys;
    readonly hub: WatcherHub;
    readonly clock: StorageClock;
    /** Closes the file and gives the directory free. */
    readonly release: (clean: boolean) => Promise<void>;
  }) {
    this.#tables = parts.tables;
    this.#journal = parts.journal;
    this.history = parts.history;
    this.backup = parts.backup;
    this.usage = parts.usage;
    this.#relaxed = parts.relaxed;
    this.#hub = parts.hub;
    this.#clock = parts.clock;
    this.#release = parts.release;
  }

  async create(key: string, write: Write): Promise<number> {
    return this.#guard(() => {
      checkWrite(key, write);
      const before = this.#journal.decidedHead(key);
      if (before && !before.deleted) throw alreadyExists(key, before.revision);
      if (before && before.durability !== write.durability) throw wrongDurability(key);
      return this.#append('put', key, write, before);
    });
  }

  async get(key: string): Promise<StoredObject | undefined> {
    return this.#guard(() => {
      checkKey(key);
      const relaxed = this.#relaxed.get(key);
      if (relaxed) return { key, bytes: relaxed.bytes, revision: relaxed.revision };
      const head = readHead(this.#tables, key);
      return head && !head.deleted
        ? { key, bytes: readHeadRecord(this.#tables, key, head).bytes, revision: head.revision }
        : undefined;
    });
  }

  async list(prefix: string, options: ListOptions = {}): Promise<StoredPage> {
    return this.#guard(() => {
      const revision = options.revision || this.#journal.published;
      checkRevision(`list ${prefix} at`, revision, this.#journal.compacted, this.#journal.published);
      const limit = options.limit || Number.POSITIVE_INFINITY;
      const items: StoredObject[] = [];
      for (const item of this.#items(prefix, listStart(prefix, options), revision)) {
        if (items.length === limit) return { items, revision, more: true };
        items.push(item);
      }
      return { items, revision, more: false };
    });
  }

  async update(key: string, expected: number, write: Write): Promise<number> {
    return this.#guard(() => {
      checkWrite(key, write);
      return this.#append('put', key, write, this.#checkCurrent('update', key, expected, write));
    });
  }

  async delete(key: string, expected: number, write: Write): Promise<number> {
    return this.#guard(() => {
      checkWrite(key, write);
      return this.#append('delete', key, write, this.#checkCurrent('delete', key, expected, write));
    });
  }

  watch(
    options: { readonly prefix: string; readonly from?: number },
    signal: AbortSignal,
  ): AsyncIterable<readonly StorageEvent[]> {
    this.#journal.checkOpen();
    const upTo = this.#journal.published;
    const from = options.from ?? upTo;
    const refusal = revisionRefusal(`watch ${options.prefix} from`, from, this.#journal.compacted, upTo);
    const history = this.#history(options.prefix, from, upTo, this.#relaxed.since(options.prefix, from, upTo));
    return readWatch({ subscription: this.#hub.subscribe(options.prefix, signal), history, refusal, signal });
  }

  async compact(revision: number): Promise<void> {
    return this.#guard(() => this.#journal.compact(revision));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    let clean = false;
    try {
      await this.#journal.close();
      clean = true;
    } finally {
      this.#hub.close();
      await this.#release(clean);
    }
  }

  async #guard<T>(action: () => T | Promise<T>): Promise<T> {
    this.#journal.checkOpen();
    try {
      return await action();
    } catch (error) {
      throw translateReadError(error);
    }
  }

  #checkCurrent(verb: string, key: string, expected: number, write: Write): DecidedHead {
    const current = this.#journal.decidedHead(key);
    if (!current || current.deleted) throw notFound(verb, key, current?.revision);
    if (current.revision !== expected) throw mismatch(verb, key, expected, current.revision);
    if (current.durability !== write.durability) throw wrongDurability(key);
    return current;
  }

  #append(type: 'put' | 'delete', key: string, write: Write, before: DecidedHead | undefined): Promise<number> {
    const { kind, verb, user, manager, durability, bytes, memo } = write;
    const awaitsDisk = durability === 'synced' || write.awaitsDisk === true;
    if (type === 'put') this.#journal.checkRoom(key, bytes.length, awaitsDisk && write.urgent !== true);
    const revision = this.#journal.nextRevision();
    const previous = durability === 'synced' ? (before?.revision ?? 0) : 0;
    const time = Math.trunc(this.#clock.now());
    const record = encodeRecord({ type, durability, revision, previous, time, key, kind, verb, user, manager, bytes });
    // The event lives in the record's copy: the caller may reuse its buffer.
    const written = { key, revision, bytes: record.subarray(record.length - bytes.length), memo };
    const rests = durability === 'relaxed' && type === 'put';
    const event: StorageEvent = rests ? new RestingEvent(written) : { type, durability, ...written };
    return this.#journal.append({ event, record, before, time, awaitsDisk });
  }

  /** Synced and relaxed keys, merged in order. */
  *#items(prefix: string, start: string, revision: number): Generator<StoredObject> {
    const relaxed = this.#relaxed.list(prefix, start);
    let next = 0;
    for (const { key, head } of readHeads(this.#tables, prefix, start)) {
      for (; next < relaxed.length && relaxed[next]!.key < key; next++) yield stored(relaxed[next]!);
      if (head.deleted && head.revision <= revision) continue;
      const record = readRecordAt(this.#tables, key, head, revision);
      if (record) yield stored(record);
    }
    for (; next < relaxed.length; next++) yield stored(relaxed[next]!);
  }

  /** The log above `from` up to `upTo` in chunks, with the newest states of relaxed keys at their places. */
  *#history(prefix: string, from: number, upTo: number, relaxed: readonly StorageEvent[]): Generator<readonly StorageEvent[]> {
    let next = 0;
    for (let at = from; at < upTo; ) {
      checkRevision(`watch ${prefix} from`, at, this.#journal.compacted, upTo);
      const records = this.#readLog(at, upTo);
      at = records.length < historyChunk ? upTo : records.at(-1)!.revision;
      const batch: StorageEvent[] = [];
      for (const record of records) {
        for (; next < relaxed.length && relaxed[next]!.revision < record.revision; next++) batch.push(relaxed[next]!);
        if (record.key.startsWith(prefix)) batch.push(eventOf(record));
      }
      for (; next < relaxed.length && relaxed[next]!.revision <= at; next++) batch.push(relaxed[next]!);
      yield batch;
    }
  }

  #readLog(from: number, upTo: number): StorageRecord[] {
    this.#journal.checkOpen();
    try {
      return readLog(this.#tables, from, upTo, historyChunk);
    } catch (error) {
      throw translateReadError(error);
    }
  }
}

function stored({ key, bytes, revision }: StoredObject): StoredObject {
  return { key, bytes, revision };
}

function eventOf({ type, key, revision, bytes, durability }: StorageRecord): StorageEvent {
  return { type, key, revision, bytes, durability };
}
