import type { Clock } from '../../client/clock.ts';

/** A clock that stands still until the test moves it. */
export interface FakeClock extends Clock {
  /**
   * Moves the time forward, calling what falls due in order, each at its own time, and lets promises settle in between:
   * a loop that waits twice within `ms` does wait twice.
   */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock without any timer noticing, as an administrator or a time server would. */
  skew(ms: number): void;
  /** How many timers wait. */
  readonly pending: number;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** Lets every promise that can settle do so (setImmediate runs after all microtasks). */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Starts at 2026-01-01T00:00:00Z unless told otherwise. */
export function createFakeClock(start = Date.UTC(2026, 0, 1)): FakeClock {
  let elapsed = 0;
  let offset = start;
  let order = 0;
  const timers = new Set<Timer>();

  function nextDue(limit: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of timers)
      if (timer.at <= limit && (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order)))
        first = timer;
    return first;
  }

  return {
    now: () => offset + elapsed,
    after(ms, callback) {
      const timer: Timer = { at: elapsed + Math.max(0, ms), order: order++, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advance(ms) {
      const end = elapsed + ms;
      await settle();
      for (let timer = nextDue(end); timer; timer = nextDue(end)) {
        timers.delete(timer);
        elapsed = Math.max(elapsed, timer.at);
        timer.callback();
        await settle();
      }
      elapsed = end;
    },
    skew: (ms) => {
      offset += ms;
    },
    get pending() {
      return timers.size;
    },
  };
}
