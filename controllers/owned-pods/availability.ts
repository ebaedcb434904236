import type { Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { toMillis } from '../../api/meta/time.ts';

/** Whether the pod counts among the replicas that there are: it has not ended and is not on its way out. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && !pod.metadata?.deletionTimestamp;
}

/**
 * In how many milliseconds a pod counts as available: 0 when it does, undefined while it is not ready. It is after it
 * has been ready for `minReadySeconds`.
 */
export function availableInMs(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  if (!isPodReady(pod)) return undefined;
  if (minReadySeconds <= 0) return 0;
  const since = findCondition(pod.status?.conditions, 'Ready')?.lastTransitionTime;
  // Without a time nothing says that it has been ready for so long.
  return since ? Math.max(0, toMillis(since) + minReadySeconds * 1000 - now) : undefined;
}

export function isAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  return availableInMs(pod, minReadySeconds, now) === 0;
}

/** When the next of the pods becomes available by time alone, in ms from now; undefined: none does. */
export function nextAvailableInMs(pods: Iterable<Pod>, minReadySeconds: number, now: number): number | undefined {
  let next: number | undefined;
  for (const pod of pods) {
    const inMs = availableInMs(pod, minReadySeconds, now);
    if (inMs !== undefined && inMs > 0 && (next === undefined || inMs < next)) next = inMs;
  }
  return next;
}
