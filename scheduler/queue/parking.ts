import type { Verdict } from '../framework/diagnosis.ts';
import type { ClusterEventKind } from '../framework/plugin.ts';

/** Items that wait for events, found by the kind of event: an event without waiting items costs nothing. */
export interface Parking<T> {
  add(item: T, verdicts: readonly Verdict[], now: number): void;
  readonly size: number;
  remove(item: T): void;
  verdicts(item: T): readonly Verdict[];
  /** A copy: items may be removed while it is walked. */
  waitingFor(kind: ClusterEventKind): T[];
  parkedBefore(instant: number): T[];
  /** When the item that waits longest was parked. */
  oldest(): number | undefined;
}

interface Ticket {
  readonly parkedAt: number;
  readonly verdicts: readonly Verdict[];
}

export function createParking<T>(): Parking<T> {
  // In the order of parking, which is the order of parkedAt.
  const tickets = new Map<T, Ticket>();
  const byKind = new Map<ClusterEventKind, Set<T>>();

  const kindsOf = (verdicts: readonly Verdict[]) => new Set(verdicts.flatMap(({ rejection }) => rejection.wakeOn));

  return {
    add(item, verdicts, now) {
      tickets.set(item, { parkedAt: now, verdicts });
      for (const kind of kindsOf(verdicts)) {
        const waiting = byKind.get(kind) ?? new Set();
        byKind.set(kind, waiting.add(item));
      }
    },
    remove(item) {
      for (const kind of kindsOf(tickets.get(item)?.verdicts ?? [])) byKind.get(kind)?.delete(item);
      tickets.delete(item);
    },
    get size() {
      return tickets.size;
    },
    verdicts: (item) => tickets.get(item)?.verdicts ?? [],
    waitingFor: (kind) => [...(byKind.get(kind) ?? [])],
    parkedBefore(instant) {
      const found: T[] = [];
      for (const [item, { parkedAt }] of tickets) {
        if (parkedAt > instant) break;
        found.push(item);
      }
      return found;
    },
    oldest() {
      for (const { parkedAt } of tickets.values()) return parkedAt;
      return undefined;
    },
  };
}
