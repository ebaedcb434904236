import type { Clock } from '../client/index.ts';
import type { Source, Wake } from './controller.ts';

/** Delays keys by a fixed time; each is enqueued when its delay is over. */
export interface Waits extends Source {
  /** Starts the delay of the key, unless it is running. */
  begin(key: string): void;
  isOver(key: string): boolean;
  /** Resets the delay of the key. */
  forget(key: string): void;
}

export function createWaits({ clock, ms }: { readonly clock: Clock; readonly ms: number }): Waits {
  const waits = new Map<string, { over: boolean; cancel(): void }>();
  let wake: Wake = () => {};
  return {
    waitForSync: async () => {},
    connect(to) {
      wake = to;
      return () => {
        for (const { cancel } of waits.values()) cancel();
        waits.clear();
        wake = () => {};
      };
    },
    begin(key) {
      if (waits.has(key)) return;
      const wait = { over: false, cancel: () => {} };
      waits.set(key, wait);
      wait.cancel = clock.after(ms, () => {
        wait.over = true;
        wake(key);
      });
    },
    isOver: (key) => waits.get(key)?.over === true,
    forget(key) {
      waits.get(key)?.cancel();
      waits.delete(key);
    },
  };
}
