import type { BatchClock } from './event-batcher.ts';

/** One timer for all watchers: calls each periodically to check its deadlines. Runs only while there is a callback. */
export class Ticker {
  readonly #clock: BatchClock;
  readonly #everyMs: number;
  readonly #ticks = new Set<(now: number) => void>();
  #running = false;

  constructor(clock: BatchClock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Calls `tick` until the returned function is called. `tick` must not throw. */
  add(tick: (now: number) => void): () => void {
    this.#ticks.add(tick);
    this.#schedule();
    return () => this.#ticks.delete(tick);
  }

  get size(): number {
    return this.#ticks.size;
  }

  #schedule(): void {
    if (this.#running || this.#ticks.size === 0) return;
    this.#running = true;
    this.#clock.setTimeout(() => {
      this.#running = false;
      const now = this.#clock.now();
      for (const tick of [...this.#ticks]) tick(now);
      this.#schedule();
    }, this.#everyMs);
  }
}
