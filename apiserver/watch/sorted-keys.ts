/** Keys in order, for ranges and paging. Adding and removing cost a move of pointers, which is cheap up to some 100,000 keys. */
export class SortedKeys {
  private readonly keys: string[] = [];

  get size(): number {
    return this.keys.length;
  }

  add(key: string): void {
    const last = this.keys.at(-1);
    if (last === undefined || last < key) {
      this.keys.push(key);
      return;
    }
    const at = this.firstAtLeast(key);
    if (this.keys[at] !== key) this.keys.splice(at, 0, key);
  }

  delete(key: string): void {
    const at = this.firstAtLeast(key);
    if (this.keys[at] === key) this.keys.splice(at, 1);
  }

  clear(): void {
    this.keys.length = 0;
  }

  /** The keys with a prefix and behind `after`, as a copy that later changes do not touch. */
  range(prefix: string, after = ''): string[] {
    const start = after > prefix ? this.firstAbove(after) : this.firstAtLeast(prefix);
    let end = start;
    // Behind every key with the prefix, because U+FFFF is in no key.
    if (start < this.keys.length) end = this.firstAtLeast(`${prefix}\uffff`);
    return this.keys.slice(start, Math.max(start, end));
  }

  private firstAtLeast(key: string): number {
    let low = 0;
    let high = this.keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.keys[middle]! < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private firstAbove(key: string): number {
    const at = this.firstAtLeast(key);
    return this.keys[at] === key ? at + 1 : at;
  }
}
