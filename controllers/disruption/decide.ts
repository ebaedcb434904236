import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodDisruptionBudget, PodDisruptionBudgetStatus, Timestamp } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { withAllowed } from '../../api/kinds/pod-disruption-budget/decide-eviction.ts';
import { scaled } from '../../api/kinds/pod-disruption-budget/scaled.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import { toMillis } from '../../api/meta/time.ts';

/** An eviction that was let in and does not show in its pod for so long has not happened. Kubernetes' figure. */
export const disruptionTimeoutMs = 2 * 60_000;

export interface BudgetPlan {
  /** The budget's next status; undefined when it is as it should be. */
  readonly status: PodDisruptionBudgetStatus | undefined;
  /** Pods that should have gone and have not. */
  readonly overdue: readonly Pod[];
  /** Names of pods without a controller, whose desired count is unknown, where that matters. */
  readonly unmanaged: readonly string[];
}

/** `pods` are those that the budget selects. */
export function decideBudget(budget: PodDisruptionBudget, pods: readonly Pod[], now: Date): BudgetPlan {
  const { expectedPods, desiredHealthy, unmanaged } = computeExpected(budget, pods);
  const { disruptedPods, overdue } = computeDisrupted(budget, pods, now);
  const currentHealthy = pods.filter((pod) => isHealthy(pod, disruptedPods)).length;
  const disruptionsAllowed = expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0;
  const { generation = 0 } = budget.metadata ?? {};
  const counted: PodDisruptionBudgetStatus = {
    conditions: budget.status?.conditions ?? [],
    observedGeneration: generation,
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
  };
  const status = { ...counted, conditions: withAllowed(counted, generation, now) };
  return { status: isSame(status, budget.status) ? undefined : status, overdue, unmanaged };
}

function isHealthy(pod: Pod, disrupted: Readonly<Record<string, Timestamp>>): boolean {
  return !pod.metadata?.deletionTimestamp && !((pod.metadata?.name ?? '') in disrupted) && isPodReady(pod);
}

interface Expected {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
  readonly unmanaged: readonly string[];
}

/**
 * How many pods there should be, and how many of them healthy. A number that must stay available counts the pods that
 * are there; every other bound is a part of the whole, which only the pods' controllers know.
 */
function computeExpected({ spec = {} }: PodDisruptionBudget, pods: readonly Pod[]): Expected {
  const { minAvailable, maxUnavailable } = spec;
  if (minAvailable && minAvailable.type !== 1)
    return { expectedPods: pods.length, desiredHealthy: minAvailable.intVal ?? 0, unmanaged: [] };
  if (!minAvailable && !maxUnavailable) return { expectedPods: 0, desiredHealthy: 0, unmanaged: [] };
  const unmanaged = pods.filter((pod) => !controllerOf(pod)).map(({ metadata }) => metadata?.name ?? '');
  // No kind has a scale yet, so a controller is taken to want the pods that it has.
  const expectedPods = pods.filter((pod) => controllerOf(pod) && !isFinished(pod)).length;
  const desiredHealthy = maxUnavailable
    ? Math.max(0, expectedPods - (scaled(maxUnavailable, expectedPods) ?? 0))
    : (scaled(minAvailable!, expectedPods) ?? expectedPods);
  return { expectedPods, desiredHealthy, unmanaged };
}

/** The evictions that may still happen, and those that have not. */
function computeDisrupted({ status }: PodDisruptionBudget, pods: readonly Pod[], now: Date) {
  const disruptedPods: Record<string, Timestamp> = {};
  const overdue: Pod[] = [];
  for (const pod of pods) {
    const { name = '', deletionTimestamp } = pod.metadata ?? {};
    const since = status?.disruptedPods?.[name];
    if (!since || deletionTimestamp) continue;
    if (toMillis(since) + disruptionTimeoutMs > now.getTime()) disruptedPods[name] = since;
    else overdue.push(pod);
  }
  return { disruptedPods, overdue };
}

/** What was read has absent lists and maps where there are none. */
function isSame(next: PodDisruptionBudgetStatus, { conditions = [], ...counts }: PodDisruptionBudgetStatus = {}): boolean {
  const { disruptedPods = {}, ...rest } = counts;
  const { conditions: wanted, disruptedPods: disrupted = {}, ...figures } = next;
  return isDeepStrictEqual([figures, wanted, disrupted], [rest, conditions, disruptedPods]);
}
