import { longestTimerMs } from '../api/meta/timeout.ts';

/** Time as it is handed to everything that waits, so that tests can turn the hands themselves. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Calls `callback` once after `ms` milliseconds; the returned function cancels that and may be called any number of
   * times.
   */
  after(ms: number, callback: () => void): () => void;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    let timer: NodeJS.Timeout;
    const wait = (leftMs: number) => {
      const later = leftMs - longestTimerMs;
      timer = later > 0 ? setTimeout(wait, longestTimerMs, later) : setTimeout(callback, leftMs);
    };
    wait(ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Resolves after `ms`, or at once when `signal` aborts: the caller looks at the signal again.
 * Leaves no listener behind.
 */
export function pause(ms: number, signal: AbortSignal, clock: Clock = systemClock): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      cancel();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(ms, finish);
    signal.addEventListener('abort', finish);
  });
}
