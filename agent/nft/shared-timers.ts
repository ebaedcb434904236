import type { Clock } from '../../client/clock.ts';

interface Moment {
  readonly callbacks: Set<() => void>;
  readonly cancel: () => void;
}

/** Moments that are closer than this are one. */
const closeMs = 20;
const momentsOf = new WeakMap<Clock, Map<number, Moment>>();

/**
 * The same time, with one timer for all that wait for the same moment (`untilCheck`): to wake an idle process costs
 * about a millisecond of the processor, whatever for. A callback comes up to 20 ms early or late. For waits of some
 * seconds: when the machine's clock is set, a callback may come as late as the longest of them.
 */
export function withSharedTimers(clock: Clock): Clock {
  const moments = momentsOf.get(clock) ?? new Map<number, Moment>();
  momentsOf.set(clock, moments);
  return {
    now: () => clock.now(),
    after(ms, callback) {
      const at = Math.round((clock.now() + ms) / closeMs);
      const moment = moments.get(at) ?? begin(clock, moments, at, ms);
      // One function may wait twice.
      const call = (): void => callback();
      moment.callbacks.add(call);
      return () => {
        if (!moment.callbacks.delete(call) || moment.callbacks.size > 0) return;
        moment.cancel();
        if (moments.get(at) === moment) moments.delete(at);
      };
    },
  };
}

function begin(clock: Clock, moments: Map<number, Moment>, at: number, ms: number): Moment {
  const callbacks = new Set<() => void>();
  const cancel = clock.after(ms, () => {
    moments.delete(at);
    // One may cancel another.
    for (const call of callbacks) {
      callbacks.delete(call);
      call();
    }
  });
  const moment = { callbacks, cancel };
  moments.set(at, moment);
  return moment;
}
