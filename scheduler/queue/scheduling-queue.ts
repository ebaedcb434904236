import { isDeepStrictEqual } from 'node:util';
import { type Clock, systemClock } from '../../client/clock.ts';
import type { Verdict } from '../framework/diagnosis.ts';
import type { ClusterEvent, QueueItem, QueueOrdering } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { QueueSizes } from '../metrics.ts';
import { createHeap, type Heap } from './heap.ts';
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
 * - Active pods come out in the profile's order. A pod that was tried waits 1 s before the next try,
 *   doubling up to 10 s.
 * - A pod for which others are being deleted is active as soon as the last of them is gone, whatever its back-off.
 * - An event that arrives while an attempt is under way is not lost: `park` looks at what happened since `pop`.
 * - Bound: one entry per pod that the API holds. Of the events during an attempt the last 1,000 are kept; a pod that
 *   may have missed one is tried again instead of parked.
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

export function createSchedulingQueue(options: SchedulingQueueOptions): SchedulingQueue {
  return new PodQueue(options);
}

class PodQueue implements SchedulingQueue {
  readonly #options: SchedulingQueueOptions;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #active: Heap<Entry>;
  readonly #backoff = createHeap<Entry>((a, b) => a.dueAt - b.dueAt || a.sequence - b.sequence);
  readonly #parking = createParking<Entry>();
  /** Those of the parked pods that do not wait for events alone. */
  readonly #ending = createHeap<Entry>((a, b) => a.endsAt - b.endsAt || a.sequence - b.sequence);
  readonly #missed = createRecentEvents();
  /** Entries that wait for a pod to be gone, by its uid. */
  readonly #waiters = new Map<string, Set<Entry>>();
  #inFlight = 0;
  #sequence = 0;
  #wake: () => void = () => {};

  constructor(options: SchedulingQueueOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#active = createHeap<Entry>(options.order);
  }

  add(pod: PodInfo): void {
    const known = this.#entries.get(pod.uid);
    if (!known) {
      this.#sequence += 1;
      const times = { queuedAt: this.#clock.now(), dueAt: 0, endsAt: 0, sequence: this.#sequence, firstMissed: 0 };
      const entry: Entry = { pod, attempts: 0, place: 'active', changed: false, leaving: new Set(), ...times };
      this.#entries.set(pod.uid, entry);
      this.#activate(entry);
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
    if (matters || place === 'active') this.#leave(known);
    known.pod = pod;
    if (place === 'active') this.#activate(known);
    else if (matters) this.#activateWhenDue(known);
  }

  sizes(): QueueSizes {
    return {
      active: this.#active.size,
      backoff: this.#backoff.size,
      unschedulable: this.#parking.size,
      inflight: this.#inFlight,
    };
  }

  waitingSince(uid: string): number | undefined {
    return this.#entries.get(uid)?.queuedAt;
  }

  remove(uid: string): void {
    const entry = this.#entries.get(uid);
    if (!entry) return;
    this.#entries.delete(uid);
    this.#forgetLeaving(entry);
    this.#leave(entry);
  }

  happened(event: ClusterEvent): void {
    if (this.#inFlight > 0) this.#missed.push(event);
    if (event.kind === 'pod/removed') this.#gone(event.pod.uid);
    for (const entry of this.#parking.waitingFor(event.kind))
      if (this.#couldHelp(this.#parking.verdicts(entry), entry.pod, event)) this.#unpark(entry);
  }

  pop(): QueuedPod | undefined {
    this.#moveDue();
    const entry = this.#active.pop();
    if (!entry) return undefined;
    Object.assign(entry, { place: 'inFlight', attempts: entry.attempts + 1, changed: false, firstMissed: this.#missed.next() });
    this.#inFlight += 1;
    return entry;
  }

  wait(signal: AbortSignal): Promise<void> {
    this.#moveDue();
    if (this.#active.size > 0 || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const inMs = this.#nextDueAt() - this.#clock.now();
      const finish = () => {
        cancel();
        this.#wake = () => {};
        signal.removeEventListener('abort', finish);
        resolve();
      };
      const cancel = Number.isFinite(inMs) ? this.#clock.after(Math.max(0, inMs), finish) : () => {};
      this.#wake = finish;
      signal.addEventListener('abort', finish, { once: true });
    });
  }

  done(item: QueuedPod): void {
    const entry = this.#landed(item);
    if (!entry) return;
    this.#entries.delete(item.pod.uid);
    this.#forgetLeaving(entry);
    this.#land();
  }

  retry(item: QueuedPod): void {
    const entry = this.#landed(item);
    if (!entry) return;
    this.#land();
    this.#activateWhenDue(entry);
  }

  park(item: QueuedPod, verdicts: readonly Verdict[], leaving: readonly string[] = []): void {
    const entry = this.#landed(item);
    if (!entry) return;
    this.#awaitGone(entry, leaving);
    const events = this.#missed.since(entry.firstMissed);
    this.#land();
    if (entry.changed || events === 'forgotten' || events.some((event) => this.#couldHelp(verdicts, entry.pod, event))) {
      this.#activateWhenDue(entry);
      return;
    }
    entry.place = 'parked';
    this.#parking.add(entry, verdicts, this.#clock.now());
    entry.endsAt = endOf(verdicts, entry.queuedAt, this.#clock.now());
    if (Number.isFinite(entry.endsAt)) this.#ending.push(entry);
    this.#wake();
  }

  stopWaiting(uid: string): void {
    const entry = this.#entries.get(uid);
    if (!entry) return;
    this.#forgetLeaving(entry);
    if (entry.place === 'parked') this.#unpark(entry);
  }

  #activate(entry: Entry): void {
    entry.place = 'active';
    this.#active.push(entry);
    this.#wake();
  }

  #activateWhenDue(entry: Entry): void {
    if (entry.dueAt <= this.#clock.now()) {
      this.#activate(entry);
      return;
    }
    entry.place = 'backoff';
    this.#backoff.push(entry);
    this.#wake();
  }

  #leave(entry: Entry): void {
    if (entry.place === 'active') this.#active.remove(entry);
    else if (entry.place === 'backoff') this.#backoff.remove(entry);
    else if (entry.place === 'parked') this.#unparkOnly(entry);
    else this.#land();
  }

  #unparkOnly(entry: Entry): void {
    this.#parking.remove(entry);
    this.#ending.remove(entry);
  }

  #land(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.#missed.clear();
  }

  /** Ends the attempt under way; undefined when the pod has left the queue since. */
  #landed(item: QueuedPod): Entry | undefined {
    const entry = this.#entries.get(item.pod.uid);
    if (entry !== item || entry.place !== 'inFlight') return undefined;
    entry.dueAt = this.#clock.now() + backoffMs(entry.attempts);
    return entry;
  }

  #awaitGone(entry: Entry, leaving: readonly string[]): void {
    for (const uid of leaving) {
      entry.leaving.add(uid);
      this.#waiters.set(uid, (this.#waiters.get(uid) ?? new Set()).add(entry));
    }
  }

  #forgetLeaving(entry: Entry): void {
    for (const uid of entry.leaving) {
      const others = this.#waiters.get(uid);
      others?.delete(entry);
      if (others?.size === 0) this.#waiters.delete(uid);
    }
    entry.leaving.clear();
  }

  /** Wakes the entries that waited for this pod alone. */
  #gone(uid: string): void {
    const waiting = this.#waiters.get(uid);
    this.#waiters.delete(uid);
    for (const entry of waiting ?? []) {
      entry.leaving.delete(uid);
      if (entry.leaving.size > 0 || entry.place === 'inFlight' || entry.place === 'active') continue;
      this.#leave(entry);
      this.#activate(entry);
    }
  }

  #unpark(entry: Entry): void {
    this.#unparkOnly(entry);
    this.#activateWhenDue(entry);
  }

  #moveDue(): void {
    const now = this.#clock.now();
    for (let entry = this.#backoff.peek(); entry && entry.dueAt <= now; entry = this.#backoff.peek()) {
      this.#backoff.pop();
      this.#activate(entry);
    }
    for (let entry = this.#ending.peek(); entry && entry.endsAt <= now; entry = this.#ending.peek()) this.#unpark(entry);
    for (const entry of this.#parking.parkedBefore(now - parkedAtMostMs)) this.#unpark(entry);
  }

  #nextDueAt(): number {
    return Math.min(
      this.#backoff.peek()?.dueAt ?? Number.POSITIVE_INFINITY,
      this.#ending.peek()?.endsAt ?? Number.POSITIVE_INFINITY,
      (this.#parking.oldest() ?? Number.POSITIVE_INFINITY) + parkedAtMostMs,
    );
  }

  #couldHelp(verdicts: readonly Verdict[], pod: PodInfo, event: ClusterEvent): boolean {
    return verdicts.some(
      ({ plugin, rejection }) => rejection.wakeOn.includes(event.kind) && this.#options.helps(plugin, pod, event),
    );
  }
}

/** When the first of the rejections ends by itself. */
function endOf(verdicts: readonly Verdict[], queuedAt: number, now: number): number {
  const ends = verdicts.map(({ rejection: { atMostMs = Number.POSITIVE_INFINITY } }) => queuedAt + atMostMs);
  // A time in the past has been waited for already: the pod is rejected now for another reason.
  return Math.min(...ends.filter((end) => end > now), Number.POSITIVE_INFINITY);
}

function backoffMs(attempts: number): number {
  return Math.min(maximumBackoffMs, initialBackoffMs * 2 ** Math.max(0, attempts - 1));
}
