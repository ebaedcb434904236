/** What a reader of a GrowingSet sees. */
export interface Growing<T> extends Iterable<T> {
  /**
   * Calls `follower` for each item that is there, and for each that comes, and `left` for each that goes, until the
   * returned function is called.
   */
  follow(follower: (item: T) => void, left?: (item: T) => void): () => void;
}

interface Follower<T> {
  came(item: T): void;
  left?: ((item: T) => void) | undefined;
}

/**
 * Items that come one after the other; few of them go. A reader that needs all of them follows the set, and hears of
 * those that come later.
 */
export class GrowingSet<T> implements Growing<T> {
  #items: readonly T[];
  readonly #followers = new Set<Follower<T>>();

  constructor(items: Iterable<T> = []) {
    this.#items = [...items];
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items[Symbol.iterator]();
  }

  add(item: T): void {
    this.#items = [...this.#items, item];
    for (const { came } of this.#followers) came(item);
  }

  /** Nothing for an item that is not there. Readers that iterate at the moment still see it. */
  remove(item: T): void {
    if (!this.#items.includes(item)) return;
    this.#items = this.#items.filter((each) => each !== item);
    for (const { left } of this.#followers) left?.(item);
  }

  follow(came: (item: T) => void, left?: (item: T) => void): () => void {
    for (const item of this.#items) came(item);
    const follower = { came, left };
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}
