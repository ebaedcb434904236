import { isDeepStrictEqual } from 'node:util';
import { type Clock, systemClock } from '../../client/clock.ts';
import type { Verdict } from '../framework/diagnosis.ts';
import type { ClusterEvent, QueueItem, QueueOrdering } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { QueueSizes } from '../metrics.ts';
import { createHeap } from './heap.ts';
import { createParking } from './parking.ts';
import { createRecentEvents } from './recent-events.ts';

/**
 * The pods that wait for a node. Each is in one place:
 *
 *      add          pop
 *     -----> active -----> in flight --- done ---> out
 *              ^  ^          |    |
 *     time due |  |   retry  |    | park (no node fits)
 *              |  |          v    v
 *            backoff <----- parked: waits for an event that one of its rejections named,
 *                     event         for a change of its own, for the end of a rejection that
 *                                   is bounded in time (`atMostMs`), or 5 minutes
 *
 * - Active pods come out in the profile's order. A pod that was tried waits 1 s before the next try, doubling up to 10 s.
 * - A pod for which others are being deleted is active as soon as the last of them is gone, whatever its back-off.
 * - An event that arrives while an attempt is under way is not lost: `park` looks at what happened since `pop`.
 * - Bound: one entry per pod that the API holds. Of the events during an attempt the last 1,000 are kept; a pod that may have missed one is
 *   tried again instead of parked.
 */
export interface SchedulingQueue extends QueueInput, QueueOutput {
  /** How many pods are where. */
  sizes(): QueueSizes;
  /** When the pod entered the queue; undefined when it is not there. */
  waitingSince(uid: string): number | undefined;
}

/** What handlers of the API's events call. */
export interface QueueInput {
  /** A pod that needs a node is there or has changed. */
  add(pod: PodInfo): void;
  /** The pod is gone or needs no node any more. */
  remove(uid: string): void;
  happened(event: ClusterEvent): void;
}

/** What the scheduling loop calls. Every popped item must end in exactly one of done, retry and park. */
export interface QueueOutput {
  /** The next pod, if one is due. */
  pop(): QueuedPod | undefined;
  /** Resolves when `pop` may have something to give or the signal aborts. One caller at a time. */
  wait(signal: AbortSignal): Promise<void>;
  done(item: QueuedPod): void;
  /** The attempt failed by accident: again after the back-off. */
  retry(item: QueuedPod): void;
  /** No node fits, for these reasons. `leaving`: pods that are being deleted to make room for it, by uid. */
  park(item: QueuedPod, verdicts: readonly Verdict[], leaving?: readonly string[]): void;
  /** The pods that a parked one waits for may stay: it is tried again after its back-off. */
  stopWaiting(uid: string): void;
}

export interface QueuedPod extends QueueItem {
  readonly attempts: number;
}

export const initialBackoffMs = 1_000;
export const maximumBackoffMs = 10_000;
/** Parked pods are tried after this long whatever happened: the net under a wrong hint, as in Kubernetes. */
export const parkedAtMostMs = 5 * 60_000;

export interface SchedulingQueueOptions {
  readonly order: QueueOrdering['queueOrder'];
  /** Whether the event may change what the plugin said about the pod. */
  readonly helps: (plugin: string, pod: PodInfo, event: ClusterEvent) => boolean;
  readonly clock?: Clock;
}

type Place = 'active' | 'backoff' | 'parked' | 'inFlight';

interface Entry extends QueuedPod {
  pod: PodInfo;
  attempts: number;
  place: Place;
  /** When the back-off ends. */
  dueAt: number;
  /** When one of the rejections of a parked pod ends by itself. */
  endsAt: number;
  /** Number of the first event that the attempt under way did not know of. */
  firstMissed: number;
  /** Changed in a way that matters since the attempt began. */
  changed: boolean;
  /** Pods that are being deleted to make room for it. */
  readonly leaving: Set<string>;
}

export function createSchedulingQueue({ order, helps, clock = systemClock }: SchedulingQueueOptions): SchedulingQueue {
  const entries = new Map<string, Entry>();
  const active = createHeap<Entry>(order);
  const backoff = createHeap<Entry>((a, b) => a.dueAt - b.dueAt || a.sequence - b.sequence);
  const parking = createParking<Entry>();
  /** Those of the parked pods that do not wait for events alone. */
  const ending = createHeap<Entry>((a, b) => a.endsAt - b.endsAt || a.sequence - b.sequence);
  const missed = createRecentEvents();
  /** Who waits for a pod to be gone, by its uid. */
  const waiters = new Map<string, Set<Entry>>();
  let inFlight = 0;
  let sequence = 0;
  let wake: () => void = () => {};

  function activate(entry: Entry): void {
    entry.place = 'active';
    active.push(entry);
    wake();
  }

  function activateWhenDue(entry: Entry): void {
    if (entry.dueAt <= clock.now()) {
      activate(entry);
      return;
    }
    entry.place = 'backoff';
    backoff.push(entry);
    wake();
  }

  function leave(entry: Entry): void {
    if (entry.place === 'active') active.remove(entry);
    else if (entry.place === 'backoff') backoff.remove(entry);
    else if (entry.place === 'parked') unparkOnly(entry);
    else land();
  }

  function unparkOnly(entry: Entry): void {
    parking.remove(entry);
    ending.remove(entry);
  }

  function land(): void {
    inFlight -= 1;
    if (inFlight === 0) missed.clear();
  }

  /** Ends the attempt under way; undefined when the pod has left the queue since. */
  function landed(item: QueuedPod): Entry | undefined {
    const entry = entries.get(item.pod.uid);
    if (entry !== item || entry.place !== 'inFlight') return undefined;
    entry.dueAt = clock.now() + backoffMs(entry.attempts);
    return entry;
  }

  function awaitGone(entry: Entry, leaving: readonly string[]): void {
    for (const uid of leaving) {
      entry.leaving.add(uid);
      waiters.set(uid, (waiters.get(uid) ?? new Set()).add(entry));
    }
  }

  function forgetLeaving(entry: Entry): void {
    for (const uid of entry.leaving) {
      const others = waiters.get(uid);
      others?.delete(entry);
      if (others?.size === 0) waiters.delete(uid);
    }
    entry.leaving.clear();
  }

  /** Nothing stands in the way of those who waited for this pod alone. */
  function gone(uid: string): void {
    const waiting = waiters.get(uid);
    waiters.delete(uid);
    for (const entry of waiting ?? []) {
      entry.leaving.delete(uid);
      if (entry.leaving.size > 0 || entry.place === 'inFlight' || entry.place === 'active') continue;
      leave(entry);
      activate(entry);
    }
  }

  function unpark(entry: Entry): void {
    unparkOnly(entry);
    activateWhenDue(entry);
  }

  function moveDue(): void {
    const now = clock.now();
    for (let entry = backoff.peek(); entry && entry.dueAt <= now; entry = backoff.peek()) {
      backoff.pop();
      activate(entry);
    }
    for (let entry = ending.peek(); entry && entry.endsAt <= now; entry = ending.peek()) unpark(entry);
    for (const entry of parking.parkedBefore(now - parkedAtMostMs)) unpark(entry);
  }

  function nextDueAt(): number {
    return Math.min(
      backoff.peek()?.dueAt ?? Number.POSITIVE_INFINITY,
      ending.peek()?.endsAt ?? Number.POSITIVE_INFINITY,
      (parking.oldest() ?? Number.POSITIVE_INFINITY) + parkedAtMostMs,
    );
  }

  return {
    add(pod) {
      const known = entries.get(pod.uid);
      if (!known) {
        sequence += 1;
        const times = { queuedAt: clock.now(), dueAt: 0, endsAt: 0, sequence, firstMissed: 0 };
        const entry: Entry = { pod, attempts: 0, place: 'active', changed: false, leaving: new Set(), ...times };
        entries.set(pod.uid, entry);
        activate(entry);
        return;
      }
      const matters = !isDeepStrictEqual(
        [known.pod.pod.spec, known.pod.pod.metadata?.labels],
        [pod.pod.spec, pod.pod.metadata?.labels],
      );
      if (known.place === 'inFlight') {
        known.changed ||= matters;
        known.pod = pod;
        return;
      }
      // The heap is ordered by what the pod says: out, change, in again.
      const place = known.place;
      if (matters || place === 'active') leave(known);
      known.pod = pod;
      if (place === 'active') activate(known);
      else if (matters) activateWhenDue(known);
    },
    sizes: () => ({ active: active.size, backoff: backoff.size, unschedulable: parking.size, inflight: inFlight }),
    waitingSince: (uid) => entries.get(uid)?.queuedAt,
    remove(uid) {
      const entry = entries.get(uid);
      if (!entry) return;
      entries.delete(uid);
      forgetLeaving(entry);
      leave(entry);
    },
    happened(event) {
      if (inFlight > 0) missed.push(event);
      if (event.kind === 'pod/removed') gone(event.pod.uid);
      for (const entry of parking.waitingFor(event.kind)) if (couldHelp(parking.verdicts(entry), entry.pod, event)) unpark(entry);
    },
    pop() {
      moveDue();
      const entry = active.pop();
      if (!entry) return undefined;
      Object.assign(entry, { place: 'inFlight', attempts: entry.attempts + 1, changed: false, firstMissed: missed.next() });
      inFlight += 1;
      return entry;
    },
    wait(signal) {
      moveDue();
      if (active.size > 0 || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const inMs = nextDueAt() - clock.now();
        const cancel = Number.isFinite(inMs) ? clock.after(Math.max(0, inMs), finish) : () => {};
        function finish(): void {
          cancel();
          wake = () => {};
          signal.removeEventListener('abort', finish);
          resolve();
        }
        wake = finish;
        signal.addEventListener('abort', finish, { once: true });
      });
    },
    done(item) {
      const entry = landed(item);
      if (!entry) return;
      entries.delete(item.pod.uid);
      forgetLeaving(entry);
      land();
    },
    retry(item) {
      const entry = landed(item);
      if (!entry) return;
      land();
      activateWhenDue(entry);
    },
    park(item, verdicts, leaving = []) {
      const entry = landed(item);
      if (!entry) return;
      awaitGone(entry, leaving);
      const events = missed.since(entry.firstMissed);
      land();
      if (entry.changed || events === 'forgotten' || events.some((event) => couldHelp(verdicts, entry.pod, event))) {
        activateWhenDue(entry);
        return;
      }
      entry.place = 'parked';
      parking.add(entry, verdicts, clock.now());
      entry.endsAt = endOf(verdicts, entry.queuedAt, clock.now());
      if (Number.isFinite(entry.endsAt)) ending.push(entry);
      wake();
    },
    stopWaiting(uid) {
      const entry = entries.get(uid);
      if (!entry) return;
      forgetLeaving(entry);
      if (entry.place === 'parked') unpark(entry);
    },
  };

  function couldHelp(verdicts: readonly Verdict[], pod: PodInfo, event: ClusterEvent): boolean {
    return verdicts.some(({ plugin, rejection }) => rejection.wakeOn.includes(event.kind) && helps(plugin, pod, event));
  }
}

/** When the first of the rejections ends by itself. */
function endOf(verdicts: readonly Verdict[], queuedAt: number, now: number): number {
  const ends = verdicts.map(({ rejection: { atMostMs = Number.POSITIVE_INFINITY } }) => queuedAt + atMostMs);
  // One that lies behind has been waited for: what is rejected now has another reason.
  return Math.min(...ends.filter((end) => end > now), Number.POSITIVE_INFINITY);
}

function backoffMs(attempts: number): number {
  return Math.min(maximumBackoffMs, initialBackoffMs * 2 ** Math.max(0, attempts - 1));
}
