/** What became of a write, as its client knows it. Indeterminate: no answer came, so it happened or it did not. */
export type Outcome = 'acknowledged' | 'refused' | 'indeterminate';

/** One write that a client began. Instants are ticks of one counter for all clients. */
export interface WriteRecord {
  readonly type: 'create' | 'update' | 'delete';
  readonly name: string;
  /** What the object says after the write; no two writes of a history say the same. Undefined for a delete. */
  readonly step: string | undefined;
  /** The version that the write was based on, if it named one. */
  readonly base: number | undefined;
  /** The life of the server in which it was begun. */
  readonly round: number;
  readonly invokedAt: number;
  returnedAt?: number;
  outcome: Outcome;
  /** The version that the server gave it; for acknowledged ones. */
  revision?: number;
}

/** One change of the log, or as a watcher saw it. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly name: string;
  readonly revision: number;
  /** What the object says after the change; before a deletion. */
  readonly step: string;
}

/** Counts the instants of a history. */
export class Ticks {
  #now = 0;

  next(): number {
    return ++this.#now;
  }
}

/** Every write that was begun, in the order in which they began. */
export class WriteHistory {
  readonly writes: WriteRecord[] = [];
  readonly #ticks = new Ticks();

  /** Runs a write; answers what `call` answers, or undefined when it was refused or its outcome is unknown. */
  async record<T>(
    write: Omit<WriteRecord, 'invokedAt' | 'outcome' | 'returnedAt' | 'revision'>,
    call: () => Promise<T>,
    revisionOf: (answer: T) => number,
  ): Promise<{ answer?: T; error?: unknown }> {
    const record: WriteRecord = { ...write, invokedAt: this.#ticks.next(), outcome: 'indeterminate' };
    this.writes.push(record);
    try {
      const answer = await call();
      record.outcome = 'acknowledged';
      record.revision = revisionOf(answer);
      return { answer };
    } catch (error) {
      if (isRefusal(error)) record.outcome = 'refused';
      return { error };
    } finally {
      record.returnedAt = this.#ticks.next();
    }
  }
}

/** Codes with which the server says that a write did not happen. Everything else leaves it open. */
const refusals: readonly unknown[] = ['ABORTED', 'ALREADY_EXISTS', 'NOT_FOUND'];

export const isRefusal = (error: unknown): boolean => refusals.includes((error as { code?: unknown }).code);
