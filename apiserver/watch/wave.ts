/** What the pacing needs of the outside. */
export interface WaveClock {
  now(): number;
  setTimeout(run: () => void, ms: number): { unref?(): unknown };
  setImmediate(run: () => void): void;
}

export const systemWaveClock: WaveClock = { now: () => performance.now(), setTimeout, setImmediate };

/**
 * Waves take at most about a quarter of the time: a wave's writes leave, encrypted, after it, which costs as much again or more, and three times
 * all that passes until the next. So a few watchers hear of an event at once; with many watchers events gather, because a message costs
 * more than an event.
 */
const GAP_PER_COST = 6;
/** A wave that gathers for longer is late and saves little more. */
const MAX_GAP_MS = 12;
/** How much the newest wave counts in the mean of the last ones: one that was held up must not slow the next. */
const NEWEST_SHARE = 0.25;

/**
 * Wakes the watchers of one kind together: all that happened since the last wave is one batch, encoded once and shared. A wave never
 * runs inside the caller, so that applying events stays short.
 */
export class Wave {
  private readonly clock: WaveClock;
  private readonly wakes = new Set<() => void>();
  private scheduled = false;
  private lastAt = Number.NEGATIVE_INFINITY;
  private costMs = 0;

  constructor(clock: WaveClock) {
    this.clock = clock;
  }

  /** Calls `wake` once in each wave until the returned function is called. `wake` must not throw. */
  add(wake: () => void): () => void {
    this.wakes.add(wake);
    return () => this.wakes.delete(wake);
  }

  get size(): number {
    return this.wakes.size;
  }

  request(): void {
    if (this.scheduled || this.wakes.size === 0) return;
    this.scheduled = true;
    const wait = this.lastAt + Math.min(this.costMs * GAP_PER_COST, MAX_GAP_MS) - this.clock.now();
    if (wait >= 1) this.clock.setTimeout(() => this.run(), wait);
    else this.clock.setImmediate(() => this.run());
  }

  private run(): void {
    this.scheduled = false;
    const startedAt = this.clock.now();
    for (const wake of [...this.wakes]) wake();
    this.lastAt = this.clock.now();
    this.costMs += (this.lastAt - startedAt - this.costMs) * NEWEST_SHARE;
  }
}
