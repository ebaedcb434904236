import type { Pod } from '../../api/generated/types.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { toMillis } from '../../api/meta/time.ts';

// Which pod of a workload a command means: kubectl's orders, the best pod first. Pods on their way out come last.

/** For `logs`: pods that have run, and of those that are not ready the ones that restarted most often. */
export function inOrderForLogs(pods: readonly Pod[]): Pod[] {
  return inOrderOf(pods, (pod) => {
    // As in kubectl, pods that have ended count as running: they have a log.
    const phase = { Pending: 2, Unknown: 1 }[pod.status?.phase ?? ''] ?? 0;
    return [isLeaving(pod), isUnassigned(pod), phase, isNotReady(pod), readySince(pod), -restartsOf(pod), createdAt(pod)];
  });
}

/** For what joins a running container: `exec`, `attach`, `port-forward`. */
export function inOrderForSessions(pods: readonly Pod[]): Pod[] {
  return inOrderOf(pods, (pod) => {
    const phase = { Running: 0, Unknown: 1 }[pod.status?.phase ?? ''] ?? 2;
    return [isLeaving(pod), isUnassigned(pod), phase, isNotReady(pod), readySince(pod), restartsOf(pod), createdAt(pod)];
  });
}

function inOrderOf(pods: readonly Pod[], rankOf: (pod: Pod) => readonly number[]): Pod[] {
  const ranked = pods.map((pod) => ({ pod, rank: rankOf(pod) }));
  return ranked.sort((a, b) => compare(a.rank, b.rank)).map(({ pod }) => pod);
}

/** Lower comes first, place by place. */
function compare(a: readonly number[], b: readonly number[]): number {
  for (const [at, value] of a.entries()) if (value !== b[at]) return value - b[at]!;
  return 0;
}

const isLeaving = ({ metadata }: Pod): number => (metadata?.deletionTimestamp ? 1 : 0);
const isUnassigned = ({ spec }: Pod): number => (spec?.nodeName ? 0 : 1);
const isNotReady = (pod: Pod): number => (isPodReady(pod) ? 0 : 1);

/** No time comes behind every time. */
const never = Number.MAX_SAFE_INTEGER;

function readySince(pod: Pod): number {
  const since = isPodReady(pod) ? findCondition(pod.status?.conditions, 'Ready')?.lastTransitionTime : undefined;
  return since ? toMillis(since) : never;
}

function createdAt({ metadata }: Pod): number {
  return metadata?.creationTimestamp ? toMillis(metadata.creationTimestamp) : never;
}

function restartsOf({ status }: Pod): number {
  return Math.max(0, ...(status?.containerStatuses ?? []).map(({ restartCount = 0 }) => restartCount));
}
