import type { ClusterEvent } from '../framework/plugin.ts';

/** More than happen during one attempt in a busy cluster; the cost of missing one is only a needless attempt. */
const maximumKept = 1_000;

/** Numbered events, the last ones of them kept. */
export interface RecentEvents {
  push(event: ClusterEvent): void;
  /** The number that the next event will get. */
  next(): number;
  /** Events from that number on; "forgotten" when not all of them are kept. */
  since(number: number): readonly ClusterEvent[] | 'forgotten';
  /** Drops what was pushed so far. */
  clear(): void;
}

export function createRecentEvents(): RecentEvents {
  // A ring: the event of number n is at n % maximumKept.
  const ring: ClusterEvent[] = [];
  let pushed = 0;
  let first = 0;
  return {
    push(event) {
      ring[pushed % maximumKept] = event;
      pushed += 1;
    },
    next: () => pushed,
    since(number) {
      if (number < first || pushed - number > maximumKept) return 'forgotten';
      const events: ClusterEvent[] = [];
      for (let at = number; at < pushed; at++) events.push(ring[at % maximumKept]!);
      return events;
    },
    clear() {
      ring.length = 0;
      first = pushed;
    },
  };
}
