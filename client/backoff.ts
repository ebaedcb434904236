/** How waiting times grow from failure to failure. */
export interface BackoffOptions {
  /** The first wait (default 200). */
  readonly initialMs?: number;
  /** No wait is longer, jitter included (default 30,000). */
  readonly maxMs?: number;
  /** Each wait is this many times the one before (default 2). */
  readonly factor?: number;
  /**
   * The part of each wait that is random, from 0 to 1 (default 0.5): it keeps many clients from coming back together.
   */
  readonly jitter?: number;
  /** From 0 to below 1. */
  readonly random?: () => number;
}

export interface Backoff {
  /** The next wait in milliseconds; each is longer than the one before, up to the maximum. */
  next(): number;
  /** Starts again at the first wait. */
  reset(): void;
}

/** The wait after `failures` failures (0 for the first): initial * factor^failures, at most max, less a random part. */
export function backoffDelayMs(options: BackoffOptions, failures: number): number {
  const { initialMs = 200, maxMs = 30_000, factor = 2, jitter = 0.5, random = Math.random } = options;
  const full = Math.min(maxMs, initialMs * factor ** failures);
  return Math.round(full * (1 - jitter * random()));
}

/** Waits that grow. Does nothing by itself: the caller waits. */
export function createBackoff(options: BackoffOptions = {}): Backoff {
  let failures = 0;
  return {
    next: () => backoffDelayMs(options, failures++),
    reset: () => {
      failures = 0;
    },
  };
}
