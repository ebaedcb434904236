/** Time as the store sees it, so that tests can turn the hands themselves. */
export interface StorageClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `callback` once after `ms` milliseconds; the returned function cancels that. */
  after(ms: number, callback: () => void): () => void;
}

/** The machine's clock; what waits does not keep the process alive (closing the store writes it). */
export const systemStorageClock: StorageClock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or when the signal aborts. */
export function pause(ms: number, clock: StorageClock, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = (): void => {
      cancel();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(ms, finish);
    signal.addEventListener('abort', finish);
  });
}
