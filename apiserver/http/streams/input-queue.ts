interface Waiting {
  readonly bytes: Buffer;
  taken(): void;
}

/** What a client sends on its way to an agent, in order. The sender holds back until it is taken. */
export class InputQueue {
  readonly #waiting: Waiting[] = [];
  #wake = (): void => {};
  #hasEnded = false;

  /** Resolves when the reader has taken it, or none will. */
  push(bytes: Buffer): Promise<void> {
    if (this.#hasEnded) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ bytes, taken: resolve });
      this.#wake();
    });
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** What waits is still given. */
  end(): void {
    this.#hasEnded = true;
    this.#wake();
  }

  /** Ends without what waits. */
  cut(): void {
    for (const { taken } of this.#waiting.splice(0)) taken();
    this.end();
  }

  async *frames(): AsyncIterableIterator<Buffer> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) {
        next.taken();
        yield next.bytes;
      } else if (this.#hasEnded) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
