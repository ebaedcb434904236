import { checkKey, forgotten } from '../checks.ts';
import type { StorageRecord } from '../record.ts';
import type { KeptWrite, KeptWrites, Moment, StorageHistory } from '../storage-history.ts';
import type { Journal } from './journal.ts';
import type { LogTimes } from './log-times.ts';
import { translateReadError } from './read-error.ts';
import { readHead, readHeadRecord, readRecord, type Tables } from './tables.ts';

/**
 * The history of an opened directory: looks into the log, each within one turn, so that a compaction comes before or
 * after it.
 */
export class LmdbHistory implements StorageHistory {
  readonly #tables: Tables;
  readonly #journal: Journal;
  readonly #times: LogTimes;

  constructor(parts: { readonly tables: Tables; readonly journal: Journal; readonly times: LogTimes }) {
    this.#tables = parts.tables;
    this.#journal = parts.journal;
    this.#times = parts.times;
  }

  async writes(key: string, { before, limit }: { readonly before?: number; readonly limit: number }): Promise<KeptWrites> {
    return this.#read(() => {
      checkKey(key);
      const { compacted } = this.#journal;
      const writes: KeptWrite[] = [];
      for (const record of this.#walk(key, before, compacted)) {
        if (writes.length === limit) return { writes, more: true, compacted };
        writes.push(keptWrite(record));
      }
      return { writes, more: false, compacted };
    });
  }

  async at(time: number): Promise<Moment | undefined> {
    return this.#read(() => this.#times.at(time, this.#journal.compacted, this.#journal.published));
  }

  async of(revision: number): Promise<Moment | undefined> {
    return this.#read(() => this.#times.of(revision, this.#journal.compacted));
  }

  async beginning(): Promise<Moment | undefined> {
    return this.#read(() => this.#times.beginning(this.#journal.compacted, this.#journal.published));
  }

  /**
   * From the newest record back to the first that is at or before the last compaction: what lies behind that may be
   * half removed.
   */
  *#walk(key: string, before: number | undefined, compacted: number): Generator<StorageRecord> {
    let record = before === undefined ? this.#newest(key) : this.#before(key, before, compacted);
    while (record) {
      if (record.revision <= compacted) {
        if (record.type === 'put') yield record;
        return;
      }
      yield record;
      record = record.previous === 0 ? undefined : readRecord(this.#tables, record.previous);
    }
  }

  #newest(key: string): StorageRecord | undefined {
    const head = readHead(this.#tables, key);
    return head && readHeadRecord(this.#tables, key, head);
  }

  #before(key: string, before: number, compacted: number): StorageRecord | undefined {
    const record = before > compacted ? readRecord(this.#tables, before) : undefined;
    if (record?.key !== key) throw forgotten(key, before, compacted);
    return record.previous === 0 ? undefined : readRecord(this.#tables, record.previous);
  }

  #read<T>(look: () => T): T {
    this.#journal.checkOpen();
    try {
      return look();
    } catch (error) {
      throw translateReadError(error);
    }
  }
}

function keptWrite({ type, revision, previous, time, verb, user, manager, bytes }: StorageRecord): KeptWrite {
  return { type, revision, previous, time, verb, user, manager, bytes };
}
