import type { Pod } from '../../api/generated/types.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { toMillis } from '../../api/meta/time.ts';
import { failuresBefore } from './job-facts.ts';

/** Kubernetes' figures. */
const firstMs = 10_000;
const longestMs = 600_000;

/** Failures since the last success, and when this process saw the last of them. */
export interface Backoff {
  readonly failures: number;
  readonly at: number;
}

export const noBackoff: Backoff = { failures: 0, at: 0 };

/** The back-off after more pods have ended; of failures only those count that came after the last success. */
export function advanceBackoff(
  before: Backoff,
  { succeeded, failed }: { readonly succeeded: readonly Pod[]; readonly failed: readonly Pod[] },
  now: number,
): Backoff {
  if (succeeded.length === 0) return failed.length === 0 ? before : { failures: before.failures + failed.length, at: now };
  const lastSuccess = Math.max(...succeeded.map(endedAt));
  const failures = failed.filter((pod) => endedAt(pod) > lastSuccess).length;
  return failures === 0 ? noBackoff : { failures, at: now };
}

/**
 * For how long no new pod is made: 10 s after the first failure, doubled with each further one, at most 10 min. A clock
 * that was set back does not lengthen it.
 */
export function backoffLeftMs({ failures, at }: Backoff, now: number): number {
  if (failures === 0) return 0;
  const wholeMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 10));
  return Math.max(0, wholeMs - Math.max(0, now - at));
}

/** The same for the index of the last pod that failed there. */
export function indexBackoffLeftMs(lastFailed: Pod, seenAt: number, now: number): number {
  const { counted, ignored } = failuresBefore(lastFailed);
  return backoffLeftMs({ failures: counted + ignored + 1, at: seenAt }, now);
}

/** When a pod ended, to bring pods of a Job into order: by the clocks of their nodes. */
export function endedAt({ metadata, status }: Pod): number {
  const { containerStatuses = [], conditions } = status ?? {};
  const ends = containerStatuses.map(({ state }) => state?.terminated?.finishedAt);
  const last = ends.length > 0 && ends.every((end) => end !== undefined) ? ends : [];
  const ready = findCondition(conditions, 'Ready');
  const time = ready?.status === 'False' ? ready.lastTransitionTime : undefined;
  if (last.length > 0) return Math.max(...last.map((end) => toMillis(end!)));
  if (time) return toMillis(time);
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp } = metadata ?? {};
  if (deletionTimestamp) return toMillis(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return creationTimestamp ? toMillis(creationTimestamp) : 0;
}

interface Remembered {
  readonly uid: string;
  backoff: Backoff;
  /** When failed pods that wait for their replacement were seen to have failed, by uid. */
  seen: Map<string, number>;
}

/** What is remembered of each Job for its back-off. After a start of the controllers the waits begin anew. */
export class BackoffMemory {
  readonly #jobs = new Map<string, Remembered>();

  /** `rebuild` is called for a Job that is not known, with its ended pods. */
  recall(key: string, uid: string, now: number, rebuild: () => Backoff): Backoff {
    let known = this.#jobs.get(key);
    if (known?.uid !== uid) {
      known = { uid, backoff: rebuild(), seen: new Map() };
      this.#jobs.set(key, known);
    }
    const { failures, at } = known.backoff;
    if (at > now) known.backoff = { failures, at: now };
    return known.backoff;
  }

  keep(key: string, backoff: Backoff): void {
    const known = this.#jobs.get(key);
    if (known) known.backoff = backoff;
  }

  /** When each of the failed pods was seen first; others are forgotten. */
  sight(key: string, failed: Iterable<Pod>, now: number): ReadonlyMap<string, number> {
    const known = this.#jobs.get(key);
    const seen = new Map<string, number>();
    for (const { metadata } of failed) {
      const uid = metadata?.uid ?? '';
      seen.set(uid, Math.min(now, known?.seen.get(uid) ?? now));
    }
    if (known) known.seen = seen;
    return seen;
  }

  forget(key: string): void {
    this.#jobs.delete(key);
  }
}
