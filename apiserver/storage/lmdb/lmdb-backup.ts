import type { BackupMoment, BackupSource } from '../backup/backup-source.ts';
import { checkRevision } from '../checks.ts';
import type { StorageClock } from '../clock.ts';
import { encodeRecord } from '../record.ts';
import type { StorageEvent } from '../storage.ts';
import type { Journal } from './journal.ts';
import { translateReadError } from './read-error.ts';
import type { RelaxedKeys } from './relaxed-keys.ts';
import { readHeads, readRecordAt, readState, type Tables } from './tables.ts';

/** A page looks at no more keys than this, so that a long row of deleted ones does not hold up the server. */
const keysPerPage = 1_000;

/**
 * Backups of an opened directory: synced keys as the log shows them at the moment's revision, relaxed ones as they were
 * at it.
 */
export class LmdbBackup implements BackupSource {
  readonly #tables: Tables;
  readonly #journal: Journal;
  readonly #relaxed: RelaxedKeys;
  readonly #clock: StorageClock;

  constructor(parts: {
    readonly tables: Tables;
    readonly journal: Journal;
    readonly relaxed: RelaxedKeys;
    readonly clock: StorageClock;
  }) {
    this.#tables = parts.tables;
    this.#journal = parts.journal;
    this.#relaxed = parts.relaxed;
    this.#clock = parts.clock;
  }

  begin(): BackupMoment {
    return this.#read(() => {
      const revision = this.#journal.published;
      const relaxed = this.#relaxed.list('', '!');
      const bytes = readState(this.#tables).liveBytes + relaxed.reduce((sum, event) => sum + event.bytes.length, 0);
      return { revision, bytes, pages: (maxBytes) => this.#pages(revision, relaxed, maxBytes) };
    });
  }

  *#pages(revision: number, relaxed: readonly StorageEvent[], maxBytes: number): Generator<readonly Buffer[]> {
    const time = Math.trunc(this.#clock.now());
    for (let at = 0; at < relaxed.length; ) {
      const page: Buffer[] = [];
      for (let bytes = 0; at < relaxed.length && bytes < maxBytes; at++) bytes += add(page, encodeRelaxed(relaxed[at]!, time));
      yield page;
    }
    let after: string | undefined = '!';
    while (after !== undefined) {
      const page: Buffer[] = [];
      after = this.#read(() => this.#fill(page, revision, after!, maxBytes));
      yield page;
    }
  }

  /** Takes the records from `start` on; returns where the next page starts. */
  #fill(page: Buffer[], revision: number, start: string, maxBytes: number): string | undefined {
    checkRevision('back up at', revision, this.#journal.compacted, this.#journal.published);
    let bytes = 0;
    let keys = 0;
    for (const { key, head } of readHeads(this.#tables, '', start)) {
      keys += 1;
      const record = head.deleted && head.revision <= revision ? undefined : readRecordAt(this.#tables, key, head, revision);
      if (record) bytes += add(page, encodeRecord(record));
      // A space sorts before everything that a key may contain.
      if (bytes >= maxBytes || keys >= keysPerPage) return `${key} `;
    }
    return undefined;
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

function add(page: Buffer[], record: Buffer): number {
  page.push(record);
  return record.length;
}

/** Who wrote it is not kept for relaxed keys. */
function encodeRelaxed({ key, revision, bytes }: StorageEvent, time: number): Buffer {
  const nobody = { kind: '', verb: '', user: '', manager: '' };
  return encodeRecord({ type: 'put', durability: 'relaxed', revision, previous: 0, time, key, bytes, ...nobody });
}
