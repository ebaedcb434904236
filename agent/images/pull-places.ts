/** Places for pulls that run at the same time. */
export interface PullPlaces {
  /**
   * Resolves with the release once there is a place, in the order of asking.
   * Rejects with the signal's reason when it aborts.
   */
  take(signal: AbortSignal): Promise<() => void>;
  /** How many wait. */
  waiting(): number;
}

export function createPullPlaces(count: number): PullPlaces {
  let free = count;
  const queue: (() => void)[] = [];

  function releaseOnce(): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const next = queue.shift();
      // The place is handed on, so that a new caller cannot overtake.
      if (next === undefined) free++;
      else next();
    };
  }

  return {
    waiting: () => queue.length,
    take(signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (free > 0) {
        free--;
        return Promise.resolve(releaseOnce());
      }
      return new Promise((resolve, reject) => {
        const onAbort = () => {
          queue.splice(queue.indexOf(enter), 1);
          reject(signal.reason);
        };
        const enter = () => {
          signal.removeEventListener('abort', onAbort);
          resolve(releaseOnce());
        };
        queue.push(enter);
        signal.addEventListener('abort', onAbort, { once: true });
      });
    },
  };
}
