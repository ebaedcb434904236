import { onAbort } from '../client/abort.ts';

/** A bound on how much is under way at once. */
export interface Slots {
  /** Runs `work` in a slot that is free (see `wait`). `work` must not throw. */
  run(work: () => Promise<void>): void;
  /** Resolves when a slot is free or the signal aborts. One caller at a time. */
  wait(signal: AbortSignal): Promise<void>;
  /** Resolves when nothing is under way. */
  drained(): Promise<void>;
}

export function createSlots(count: number): Slots {
  const running = new Set<Promise<void>>();
  let freed: () => void = () => {};
  return {
    run(work) {
      const job = work().finally(() => {
        running.delete(job);
        freed();
      });
      running.add(job);
    },
    wait(signal) {
      if (running.size < count || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const unlink = onAbort(signal, resolve);
        freed = () => {
          unlink();
          resolve();
        };
      });
    },
    async drained() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
