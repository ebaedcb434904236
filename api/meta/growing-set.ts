/** What a reader of a GrowingSet sees. */
export interface Growing<T> extends Iterable<T> {
  /** Calls `follower` for each item that is there, and for each that comes, until the returned function is called. */
  follow(follower: (item: T) => void): () => void;
}

/**
 * Items that come one after the other and stay. A reader that needs all of them follows the set, and hears of those
 * that come later.
 */
export class GrowingSet<T> implements Growing<T> {
  readonly #items: T[];
  readonly #followers = new Set<(item: T) => void>();

  constructor(items: Iterable<T> = []) {
    this.#items = [...items];
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items[Symbol.iterator]();
  }

  add(item: T): void {
    this.#items.push(item);
    for (const follower of this.#followers) follower(item);
  }

  follow(follower: (item: T) => void): () => void {
    for (const item of this.#items) follower(item);
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}
