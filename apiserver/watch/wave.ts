/** What the pacing needs of the outside. */
export interface WaveClock {
  now(): number;
  setTimeout(run: () => void, ms: number): { unref?(): unknown };
  setImmediate(run: () => void): void;
}

export const systemWaveClock: WaveClock = { now: () => performance.now(), setTimeout, setImmediate };

/** With few watchers an event leaves at once; with many, events gather for a moment, because a message costs more than an event. */
const GAP_MS_PER_WATCHER = 0.05;
const MAX_GAP_MS = 10;

/**
 * Wakes the watchers of one kind together: all that happened since the last wave is one batch, encoded once and shared. A wave never
 * runs inside the caller, so that applying events stays short.
 */
export class Wave {
  private readonly clock: WaveClock;
  private readonly wakes = new Set<() => void>();
  private scheduled = false;
  private lastAt = Number.NEGATIVE_INFINITY;

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
    const gap = Math.min(this.wakes.size * GAP_MS_PER_WATCHER, MAX_GAP_MS);
    const wait = this.lastAt + gap - this.clock.now();
    if (wait >= 1) this.clock.setTimeout(() => this.run(), wait);
    else this.clock.setImmediate(() => this.run());
  }

  private run(): void {
    this.scheduled = false;
    this.lastAt = this.clock.now();
    for (const wake of [...this.wakes]) wake();
  }
}
