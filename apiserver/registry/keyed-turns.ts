/**
 * Runs work of the same key one after the other, in the order of the calls; work of other keys does not wait. Idle keys
 * take no memory.
 */
export class KeyedTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Settles as `work` does. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = before === undefined ? work() : before.then(work, work);
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}
