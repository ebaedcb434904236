import type { StoredObject } from '../storage/storage.ts';
import { type Entry, makeEntry, restingEntry, sizeOfEntry } from './entry.ts';
import { SortedKeys } from './sorted-keys.ts';

/** The present objects of one kind by key and in the order of their keys, and how many bytes they are. */
export class EntryTable {
  readonly #entries = new Map<string, Entry>();
  readonly #keys = new SortedKeys();
  #held = 0;
  /** The last range of a whole prefix: concurrent lists, and the pages of one, often request the same one. */
  #last: { readonly prefix: string; readonly entries: WeakRef<readonly Entry[]> } | undefined;

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#held;
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  values(): Iterable<Entry> {
    return this.#entries.values();
  }

  /**
   * Those with a key prefix, behind `after`, in key order: an immutable copy, shared by all callers until the next
   * change.
   */
  range(prefix: string, after?: string): readonly Entry[] {
    let entries = this.#last?.prefix === prefix ? this.#last.entries.deref() : undefined;
    if (!entries) {
      entries = this.#keys.range(prefix).map((key) => this.#entries.get(key)!);
      this.#last = { prefix, entries: new WeakRef(entries) };
    }
    return after === undefined ? entries : entries.slice(firstBehind(entries, after));
  }

  set(entry: Entry): void {
    const previous = this.#entries.get(entry.key);
    if (!previous) this.#keys.add(entry.key);
    this.#held += sizeOfEntry(entry) - (previous ? sizeOfEntry(previous) : 0);
    this.#entries.set(entry.key, entry);
    this.#last = undefined;
  }

  delete(key: string): void {
    const previous = this.#entries.get(key);
    if (!previous) return;
    this.#held -= sizeOfEntry(previous);
    this.#entries.delete(key);
    this.#last = undefined;
    this.#keys.delete(key);
  }

  /** `expire`: whether the kind's objects do. */
  fill(items: readonly StoredObject[], expire: boolean): void {
    for (const item of items) this.set(expire ? restingEntry(item) : makeEntry(item.key, item.bytes, item.revision));
  }
}

/** The place of the first entry whose key is greater. */
function firstBehind(entries: readonly Entry[], key: string): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (entries[middle]!.key <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}
