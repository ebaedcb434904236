/** A set of keys that can be read in order. Adding is cheap; keys are sorted lazily. */
export class SortedKeys {
  readonly #keys = new Set<string>();
  #sorted: string[] | undefined = [];

  add(key: string): void {
    if (this.#keys.has(key)) return;
    this.#keys.add(key);
    this.#sorted = undefined;
  }

  delete(key: string): void {
    if (this.#keys.delete(key)) this.#sorted = undefined;
  }

  /** The keys from `start` up to but without `end`. */
  between(start: string, end: string): string[] {
    this.#sorted ??= [...this.#keys].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    return this.#sorted.slice(firstAtLeast(this.#sorted, start), firstAtLeast(this.#sorted, end));
  }
}

function firstAtLeast(sorted: readonly string[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
