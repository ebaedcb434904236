/**
 * Continues work in later turns of the event loop, one piece in each turn, so that other calls run in between however
 * much such work there is.
 */
export class Turns {
  readonly #later: (run: () => void) => void;
  readonly #work = new Set<() => void>();
  #scheduled = false;

  constructor(later: (run: () => void) => void) {
    this.#later = later;
  }

  /** Calls `go` once, in a turn of its own; asking again before that changes nothing. `go` must not throw. */
  add(go: () => void): void {
    this.#work.add(go);
    this.#schedule();
  }

  delete(go: () => void): void {
    this.#work.delete(go);
  }

  #schedule(): void {
    if (this.#scheduled || this.#work.size === 0) return;
    this.#scheduled = true;
    this.#later(() => {
      this.#scheduled = false;
      const [go] = this.#work;
      if (!go) return;
      this.#work.delete(go);
      go();
      this.#schedule();
    });
  }
}
