import type { Clock } from '../../client/index.ts';
import type { Source, Wake } from '../controller.ts';

/** What is counted down for each owner, which is woken when one is over. */
export interface Countdowns extends Source {
  /** Exactly these are counted for the owner from now on; what is counted already goes on. */
  keep(owner: string, wanted: ReadonlyMap<string, number>): void;
  isOver(owner: string, key: string): boolean;
  /** All begin anew, also those that are over. */
  restart(): void;
}

/** A process that stood still, or a machine that slept, has counted so much of it at most. */
const longestStepMs = 10_000;

interface Countdown {
  readonly ms: number;
  leftMs: number;
  cancel(): void;
}

export function createCountdowns({ clock }: { readonly clock: Clock }): Countdowns {
  const owners = new Map<string, Map<string, Countdown>>();
  let wake: Wake = () => {};

  function count(owner: string, countdown: Countdown): void {
    if (countdown.leftMs <= 0) {
      wake(owner);
      return;
    }
    const step = Math.min(countdown.leftMs, longestStepMs);
    countdown.cancel = clock.after(step, () => {
      countdown.leftMs -= step;
      count(owner, countdown);
    });
  }

  function begin(owner: string, countdown: Countdown): void {
    countdown.cancel();
    countdown.leftMs = countdown.ms;
    count(owner, countdown);
  }

  return {
    waitForSync: async () => {},
    connect(to) {
      wake = to;
      return () => {
        for (const owned of owners.values()) for (const { cancel } of owned.values()) cancel();
        owners.clear();
        wake = () => {};
      };
    },
    keep(owner, wanted) {
      const owned = owners.get(owner) ?? new Map<string, Countdown>();
      for (const [key, { cancel }] of owned) {
        if (wanted.has(key)) continue;
        cancel();
        owned.delete(key);
      }
      for (const [key, ms] of wanted) {
        if (owned.has(key)) continue;
        const countdown = { ms, leftMs: ms, cancel: () => {} };
        owned.set(key, countdown);
        begin(owner, countdown);
      }
      if (owned.size > 0) owners.set(owner, owned);
      else owners.delete(owner);
    },
    isOver: (owner, key) => (owners.get(owner)?.get(key)?.leftMs ?? 1) <= 0,
    restart() {
      for (const [owner, owned] of owners) for (const countdown of owned.values()) begin(owner, countdown);
    },
  };
}
