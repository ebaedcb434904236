import type { Pod, PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../generated/types.ts';
import { setCondition } from '../../meta/conditions.ts';
import { secondsTimestamp } from '../../meta/time.ts';
import { isFinished } from '../pod/lifecycle.ts';
import { isPodReady } from '../pod/readiness.ts';

/** So many evictions may be let in and not yet seen; more mean that the budget's status is not maintained. */
export const mostDisruptedPods = 2_000;

/**
 * Whether taking the pod away disrupts nothing: it has not begun, has ended, or is on its way out. Any budget lets it
 * go.
 */
export function isBeyondBudgets(pod: Pod): boolean {
  return pod.metadata?.deletionTimestamp !== undefined || pod.status?.phase === 'Pending' || isFinished(pod);
}

/**
 * What a budget says to the eviction of one of its pods. `free`: the pod is not ready, and may go without being
 * counted, as long as it stays so. `counted`: it may go once this status has been written. `refused`: not now; `why` in
 * words, which end a sentence.
 */
export type Leave =
  | { readonly kind: 'free' }
  | { readonly kind: 'counted'; readonly status: PodDisruptionBudgetStatus }
  | { readonly kind: 'refused'; readonly why: string };

export function decideEviction(budget: PodDisruptionBudget, pod: Pod, now: Date): Leave {
  const { metadata, spec, status = {} } = budget;
  const { disruptionsAllowed = 0, currentHealthy = 0, desiredHealthy = 0, disruptedPods = {} } = status;
  if (!isPodReady(pod)) {
    if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return { kind: 'free' };
    if (desiredHealthy > 0 && currentHealthy >= desiredHealthy) return { kind: 'free' };
  }
  if ((status.observedGeneration ?? 0) < (metadata?.generation ?? 0)) return refused('has not been computed yet');
  if (Object.keys(disruptedPods).length > mostDisruptedPods)
    return refused('has too many evictions that its status does not show as done');
  if (disruptionsAllowed <= 0 && isPartOfUnknown(budget))
    return refused('cannot tell how many pods there should be, for none has a controller: set its spec.minAvailable to a number');
  if (disruptionsAllowed <= 0) return refused(`needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`);
  return { kind: 'counted', status: withDisruption(status, pod.metadata?.name ?? '', now) };
}

/** Whether the bound is relative to the replicas that the pods' controllers want, and no controller is known. */
function isPartOfUnknown({ spec, status }: PodDisruptionBudget): boolean {
  const isPart = spec?.maxUnavailable !== undefined || spec?.minAvailable?.type === 1;
  return isPart && (status?.expectedPods ?? 0) === 0;
}

const refused = (why: string): Leave => ({ kind: 'refused', why });

/** Until the pod is seen to go, the controller passes over it. */
function withDisruption(status: PodDisruptionBudgetStatus, name: string, now: Date): PodDisruptionBudgetStatus {
  const disruptionsAllowed = (status.disruptionsAllowed ?? 0) - 1;
  const disruptedPods = { ...status.disruptedPods, [name]: secondsTimestamp(now) };
  const next = { ...status, disruptionsAllowed, disruptedPods };
  return disruptionsAllowed > 0 ? next : { ...next, conditions: withAllowed(next, status.observedGeneration, now) };
}

/** The conditions with DisruptionAllowed as the status says it. */
export function withAllowed(
  { conditions, disruptionsAllowed = 0 }: PodDisruptionBudgetStatus,
  observedGeneration: number | undefined,
  now: Date,
): NonNullable<PodDisruptionBudgetStatus['conditions']> {
  const isAllowed = disruptionsAllowed > 0;
  const next = {
    type: 'DisruptionAllowed',
    status: isAllowed ? 'True' : 'False',
    reason: isAllowed ? 'SufficientPods' : 'InsufficientPods',
    message: '',
    ...(observedGeneration !== undefined && { observedGeneration }),
  };
  return setCondition(conditions, next, secondsTimestamp(now));
}
