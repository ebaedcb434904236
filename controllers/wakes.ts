import type { Clock } from '../client/index.ts';
import type { Source, Wake } from './controller.ts';

/** Keys that are to be looked at again later, each at a time of its own. */
export interface Wakes extends Source {
  /** Wakes the key after so long, and not at the time that was said before. */
  at(key: string, ms: number): void;
  forget(key: string): void;
}

export function createWakes(clock: Clock): Wakes {
  const timers = new Map<string, () => void>();
  let wake: Wake = () => {};
  const forget = (key: string): void => {
    timers.get(key)?.();
    timers.delete(key);
  };
  return {
    waitForSync: async () => {},
    connect(to) {
      wake = to;
      return () => {
        for (const key of [...timers.keys()]) forget(key);
        wake = () => {};
      };
    },
    at(key, ms) {
      forget(key);
      const fire = (): void => {
        timers.delete(key);
        wake(key);
      };
      timers.set(key, clock.after(ms, fire));
    },
    forget,
  };
}
