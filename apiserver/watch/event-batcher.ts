/** What the pacing needs of the outside. */
export interface BatchClock {
  now(): number;
  setTimeout(run: () => void, ms: number): { unref?(): unknown };
  setImmediate(run: () => void): void;
}

export const systemBatchClock: BatchClock = { now: () => performance.now(), setTimeout, setImmediate };

/**
 * Batches take at most about a quarter of the time: a batch's writes leave, encrypted, after it, which costs as much
 * again or more, and three times all that passes until the next. So a few watchers hear of an event at once; with many
 * watchers events gather, because a message costs more than an event.
 */
const GAP_PER_COST = 6;
/** A batch that gathers for longer is late and saves little more. */
const MAX_GAP_MS = 12;
/** How much the newest batch counts in the mean of the last ones: one that was held up must not slow the next. */
const NEWEST_SHARE = 0.25;

/**
 * Wakes the watchers of one kind together: all events since the last batch are encoded once and shared. A batch never
 * runs inside the caller, so that applying events stays short.
 */
export class EventBatcher {
  readonly #clock: BatchClock;
  readonly #wakes = new Set<() => void>();
  #scheduled = false;
  #lastAt = Number.NEGATIVE_INFINITY;
  #costMs = 0;

  constructor(clock: BatchClock) {
    this.#clock = clock;
  }

  /** Calls `wake` once in each batch until the returned function is called. `wake` must not throw. */
  add(wake: () => void): () => void {
    this.#wakes.add(wake);
    return () => this.#wakes.delete(wake);
  }

  get size(): number {
    return this.#wakes.size;
  }

  request(): void {
    if (this.#scheduled || this.#wakes.size === 0) return;
    this.#scheduled = true;
    const wait = this.#lastAt + Math.min(this.#costMs * GAP_PER_COST, MAX_GAP_MS) - this.#clock.now();
    if (wait >= 1) this.#clock.setTimeout(() => this.#run(), wait);
    else this.#clock.setImmediate(() => this.#run());
  }

  #run(): void {
    this.#scheduled = false;
    const startedAt = this.#clock.now();
    for (const wake of [...this.#wakes]) wake();
    this.#lastAt = this.#clock.now();
    this.#costMs += (this.#lastAt - startedAt - this.#costMs) * NEWEST_SHARE;
  }
}
