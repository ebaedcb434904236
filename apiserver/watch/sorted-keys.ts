/** So few are put into their places one by one; more are merged in one pass. */
const FEW = 16;
/** So many wait for a reader at most: merging them takes a few milliseconds. */
const MAX_WAITING = 4_096;

/**
 * Keys in order, for ranges and paging. New ones wait unsorted until a read: moving the keys behind each of them would
 * cost more than the rest of a create when there are many.
 */
export class SortedKeys {
  #keys: string[] = [];
  readonly #waiting = new Set<string>();

  get size(): number {
    this.#settle();
    return this.#keys.length;
  }

  add(key: string): void {
    const last = this.#keys.at(-1);
    if (this.#waiting.size === 0 && (last === undefined || last < key)) {
      this.#keys.push(key);
      return;
    }
    this.#waiting.add(key);
    if (this.#waiting.size >= MAX_WAITING) this.#settle();
  }

  delete(key: string): void {
    this.#waiting.delete(key);
    const at = this.#firstAtLeast(key);
    if (this.#keys[at] === key) this.#keys.splice(at, 1);
  }

  clear(): void {
    this.#keys = [];
    this.#waiting.clear();
  }

  /** The keys with a prefix and behind `after`, as a copy that later changes do not touch. */
  range(prefix: string, after = ''): string[] {
    this.#settle();
    const start = after > prefix ? this.#firstAbove(after) : this.#firstAtLeast(prefix);
    let end = start;
    // Behind every key with the prefix, because U+FFFF is in no key.
    if (start < this.#keys.length) end = this.#firstAtLeast(`${prefix}\uffff`);
    return this.#keys.slice(start, Math.max(start, end));
  }

  #settle(): void {
    if (this.#waiting.size === 0) return;
    if (this.#waiting.size <= FEW) for (const key of this.#waiting) this.#insert(key);
    else this.#keys = merged(this.#keys, [...this.#waiting].sort());
    this.#waiting.clear();
  }

  #insert(key: string): void {
    const at = this.#firstAtLeast(key);
    if (this.#keys[at] !== key) this.#keys.splice(at, 0, key);
  }

  #firstAtLeast(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#keys[middle]! < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #firstAbove(key: string): number {
    const at = this.#firstAtLeast(key);
    return this.#keys[at] === key ? at + 1 : at;
  }
}

/** Both in order; a key that is in both comes once. */
function merged(left: readonly string[], right: readonly string[]): string[] {
  const all: string[] = [];
  let [i, j] = [0, 0];
  while (i < left.length && j < right.length) {
    const [a, b] = [left[i]!, right[j]!];
    if (a < b) all.push(a);
    else all.push(b);
    if (a <= b) i++;
    if (b <= a) j++;
  }
  for (; i < left.length; i++) all.push(left[i]!);
  for (; j < right.length; j++) all.push(right[j]!);
  return all;
}
