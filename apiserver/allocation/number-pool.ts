/** Numbers from `first` on, `size` of them, of which the first `spared` are chosen last, and `kept` never. */
export interface PoolRange {
  readonly first: number;
  readonly size: number;
  /** How many of the first ones are left to those who name the number that they want. */
  readonly spared: number;
  isKept(number: number): boolean;
}

/**
 * Which numbers have holders, by their keys. A number may have several claims of one holder, and, where a store of an
 * earlier version has it so, of several.
 */
export class NumberPool {
  readonly range: PoolRange;
  readonly #claims = new Map<number, Map<string, number>>();

  constructor(range: PoolRange) {
    this.range = range;
  }

  /** How many numbers have a holder, in the range and outside. */
  get taken(): number {
    return this.#claims.size;
  }

  add(number: number, key: string): void {
    const claims = this.#claims.get(number);
    if (claims) claims.set(key, (claims.get(key) ?? 0) + 1);
    else this.#claims.set(number, new Map([[key, 1]]));
  }

  remove(number: number, key: string): void {
    const claims = this.#claims.get(number);
    const count = claims?.get(key) ?? 0;
    if (!claims || count === 0) return;
    if (count > 1) claims.set(key, count - 1);
    else if (claims.size > 1) claims.delete(key);
    else this.#claims.delete(number);
  }

  contains(number: number): boolean {
    return number >= this.range.first && number < this.range.first + this.range.size;
  }

  /** Who else holds a number; undefined where it is free for this key. */
  otherHolder(number: number, key: string): string | undefined {
    for (const holder of this.#claims.get(number)?.keys() ?? []) if (holder !== key) return holder;
    return undefined;
  }

  *claims(): Generator<[number: number, holders: string[]]> {
    for (const [number, claims] of this.#claims) yield [number, [...claims.keys()]];
  }

  /**
   * A free number, at random so that one that was just given back is rarely the next; undefined when all are taken.
   * `also` are not free either. Looks at each number at most once.
   */
  choose(random: () => number, also: ReadonlySet<number>): number | undefined {
    const { first, size, spared } = this.range;
    return this.#chooseFrom(first + spared, size - spared, random, also) ?? this.#chooseFrom(first, spared, random, also);
  }

  #chooseFrom(first: number, size: number, random: () => number, also: ReadonlySet<number>): number | undefined {
    const start = Math.floor(random() * size);
    for (let i = 0; i < size; i++) {
      const number = first + ((start + i) % size);
      if (!this.#claims.has(number) && !also.has(number) && !this.range.isKept(number)) return number;
    }
    return undefined;
  }
}
