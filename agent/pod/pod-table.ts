import type { PodRecord } from './pod-record.ts';

/** The records of all pods that have something to do with this node, by uid. */
export class PodTable {
  readonly #records = new Map<string, PodRecord>();
  /** When pods left for good: a list of containers that was requested before may still show theirs. */
  readonly #leftAt = new Map<string, number>();
  /** The containers of the API's pods are known: until then no step runs for these pods, or they would run twice. */
  isListed = false;

  get(uid: string): PodRecord | undefined {
    return this.#records.get(uid);
  }

  all(): MapIterator<PodRecord> {
    return this.#records.values();
  }

  set(record: PodRecord): void {
    this.#records.set(record.uid, record);
  }

  /** Drops the record of a pod of which nothing is left. */
  drop(uid: string, nowMs: number): void {
    this.#records.delete(uid);
    this.#leftAt.set(uid, nowMs);
  }

  /** Whether a pod has a record, or had one when the containers were listed. */
  isKnown(uid: string): boolean {
    return this.#records.has(uid) || this.#leftAt.has(uid);
  }

  /** Forgets the pods that left before a list of containers was requested: the list does not show them. */
  forgetLeft(beforeMs: number): void {
    for (const [uid, at] of this.#leftAt) if (at < beforeMs) this.#leftAt.delete(uid);
  }
}
