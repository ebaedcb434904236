import type { Entry, EntryDecoder } from './entry.ts';
import type { CacheEvent, EventRing } from './event-ring.ts';

/** The index is pruned of values that left the ring when it has so many, and again whenever it has doubled. */
const PRUNE_AT = 4_096;

/** Of one field: the sequence behind the latest event of an object that has, or had, each value. */
interface Touched {
  /** Events before this sequence were not looked at. */
  readonly since: number;
  readonly last: Map<string, number>;
  pruneAt: number;
}

/**
 * When objects with a certain value of a field changed last. A watcher of one value, such as an agent of the pods of
 * its node, learns in one look that none of the new events are for it; without this each of N agents would look at the
 * events of all N.
 */
export class TouchIndex {
  readonly #ring: EventRing;
  readonly #decoder: EntryDecoder;
  readonly #fields = new Map<string, Touched>();

  constructor(ring: EventRing, decoder: EntryDecoder) {
    this.#ring = ring;
    this.#decoder = decoder;
  }

  /** Follows a field from now on, if it does not yet. */
  follow(field: string): void {
    if (this.#fields.has(field)) return;
    this.#fields.set(field, { since: this.#ring.endSequence, last: new Map(), pruneAt: PRUNE_AT });
  }

  /** The event that the ring got last. Throws for an object that cannot be read; then nothing is known of its past. */
  note({ entry, previous }: CacheEvent): void {
    if (this.#fields.size === 0) return;
    const values = [entry, previous].flatMap((each) => (each ? [this.#read(each)] : []));
    for (const [field, touched] of this.#fields) {
      for (const value of values) touched.last.set(value[field] ?? '', this.#ring.endSequence);
      if (touched.last.size >= touched.pruneAt) this.#prune(touched);
    }
  }

  /** Whether certainly no event from `sequence` on is of an object that has or had this value. */
  isUntouched(field: string, value: string, sequence: number): boolean {
    const touched = this.#fields.get(field);
    if (!touched || sequence < touched.since) return false;
    return (touched.last.get(value) ?? 0) <= sequence;
  }

  #read(entry: Entry): Readonly<Record<string, string>> {
    try {
      return this.#decoder.fields(entry);
    } catch (error) {
      this.#fields.clear();
      throw error;
    }
  }

  #prune(touched: Touched): void {
    for (const [value, sequence] of touched.last) if (sequence <= this.#ring.firstSequence) touched.last.delete(value);
    touched.pruneAt = Math.max(PRUNE_AT, touched.last.size * 2);
  }
}
