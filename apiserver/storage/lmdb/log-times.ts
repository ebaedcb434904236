import { decodeRecord, type StorageRecord } from '../record.ts';
import type { Moment } from '../storage-history.ts';
import type { LogTimesState } from './state.ts';
import type { Tables } from './tables.ts';

/** Each costs a commit eight bytes. Beyond this many clock resets within the history, times of versions are lost. */
const maxSteps = 32;

/**
 * Finds the revision of a time by binary search in the log. A write costs one comparison: only a clock that was set
 * back leaves a note.
 */
export class LogTimes {
  readonly #tables: Tables;
  #compactedAt: number;
  #steps: readonly number[];
  #floor: number;
  #last: number;

  /**
   * `state` is undefined for a store of a version that did not note it: then the state at its last compaction is known
   * from now on.
   */
  constructor(tables: Tables, state: LogTimesState | undefined, now: number) {
    this.#tables = tables;
    this.#compactedAt = state?.compactedAt ?? now;
    this.#steps = state?.steps ?? [];
    this.#floor = state?.floor ?? 0;
    this.#last = state?.last ?? 0;
  }

  get state(): LogTimesState {
    return { compactedAt: this.#compactedAt, steps: this.#steps, last: this.#last, floor: this.#floor };
  }

  /** Every synced write, in the order of revisions. */
  note(revision: number, time: number): void {
    if (time < this.#last) this.#steps = [...this.#steps, revision];
    this.#last = time;
    if (this.#steps.length <= maxSteps) return;
    this.#floor = this.#steps[0]!;
    this.#steps = this.#steps.slice(1);
  }

  /** Before the log up to `to` is forgotten; up to `from` it was before. */
  compact(from: number, to: number): void {
    this.#compactedAt = this.#timeOfNewest(from, to);
    this.#steps = this.#steps.filter((step) => step > to + 1);
  }

  at(time: number, compacted: number, newest: number): Moment | undefined {
    const starts = [Math.max(compacted + 1, this.#floor), ...this.#steps.filter((step) => step > compacted + 1)];
    let end = newest;
    for (const start of starts.reverse()) {
      const found = this.#search(start, end, time);
      if (found) return momentOf(found);
      end = start - 1;
    }
    return this.#floor <= compacted && time >= this.#compactedAt ? this.#compactedMoment(compacted) : undefined;
  }

  of(revision: number, compacted: number): Moment | undefined {
    if (revision < compacted) return undefined;
    const newest = this.#newest(compacted, revision);
    return newest ? momentOf(newest) : this.#compactedMoment(compacted);
  }

  beginning(compacted: number, newest: number): Moment | undefined {
    const first = compacted > 0 ? undefined : this.#first(1, newest);
    return first ? momentOf(first) : this.#compactedMoment(compacted);
  }

  #compactedMoment(compacted: number): Moment | undefined {
    return compacted > 0 ? { revision: compacted, time: this.#compactedAt } : undefined;
  }

  /** The last record at or before a time among those from `start` to `end`, whose times grow. */
  #search(start: number, end: number, time: number): StorageRecord | undefined {
    let found: StorageRecord | undefined;
    let [low, high] = [start, end];
    while (low <= high) {
      const middle = Math.floor((low + high) / 2);
      const record = this.#first(middle, high);
      if (record && record.time <= time) {
        found = record;
        low = record.revision + 1;
      } else high = middle - 1;
    }
    return found;
  }

  #first(from: number, upTo: number): StorageRecord | undefined {
    for (const { key, value } of this.#tables.log.getRange({ start: from, end: upTo + 1, limit: 1 }))
      return decodeRecord(value, `revision ${key}`);
    return undefined;
  }

  /** When the newest write with after < revision <= upTo was accepted; what was known before when there is none. */
  #timeOfNewest(after: number, upTo: number): number {
    try {
      return this.#newest(after, upTo)?.time ?? this.#compactedAt;
    } catch {
      // A damaged record is reported by its reader; until then the state counts as known from the newest write on.
      return this.#last;
    }
  }

  /** The newest record with after < revision <= upTo. */
  #newest(after: number, upTo: number): StorageRecord | undefined {
    for (const { key, value } of this.#tables.log.getRange({ start: upTo, end: after, reverse: true, limit: 1 }))
      return decodeRecord(value, `revision ${key}`);
    return undefined;
  }
}

function momentOf({ revision, time }: StorageRecord): Moment {
  return { revision, time };
}
