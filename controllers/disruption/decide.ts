import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodDisruptionBudget, PodDisruptionBudgetStatus, Timestamp } from '../../api/generated/types.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { withAllowed } from '../../api/kinds/pod-disruption-budget/decide-eviction.ts';
import { scaled } from '../../api/kinds/pod-disruption-budget/scaled.ts';
import { setCondition } from '../../api/meta/conditions.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import { secondsTimestamp, toMillis } from '../../api/meta/time.ts';

/** An eviction that was let in and does not show in its pod for so long has not happened. Kubernetes' figure. */
export const disruptionTimeoutMs = 2 * 60_000;

export interface BudgetPlan {
  /** The budget's next status; undefined when it is as it should be. */
  readonly status: PodDisruptionBudgetStatus | undefined;
  /** Pods that should have gone and have not. */
  readonly overdue: readonly Pod[];
  /** Names of pods without a controller, whose desired count is unknown, where that matters. */
  readonly unmanaged: readonly string[];
  /** Why it cannot be told how many pods there should be; then nothing may be evicted. */
  readonly failure: string | undefined;
}

/** The wanted replicas of the pods' controller, or of its owner that scales it, by uid; or why they are not known. */
export type ControllerScale = { readonly uid: string; readonly replicas: number } | { readonly problem: string };

/** By the uid of the pods' controller; one that is missing is not there. */
export type ControllerScales = ReadonlyMap<string, ControllerScale>;

/** `pods` are those that the budget selects; `scales` are their controllers', where the budget `needsScales`. */
export function decideBudget(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  { scales, now }: { readonly scales: ControllerScales; readonly now: Date },
): BudgetPlan {
  const expected = computeExpected(budget, pods, scales);
  const { disruptedPods, overdue } = computeDisrupted(budget, pods, now);
  if ('failure' in expected) return { ...failSafe(budget, expected.failure, now), overdue, unmanaged: [] };
  const { expectedPods, desiredHealthy, unmanaged } = expected;
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
  return { status: isSame(status, budget.status) ? undefined : status, overdue, unmanaged, failure: undefined };
}

/** As in Kubernetes: everything stays as it was, but that no eviction is let in. */
function failSafe({ status = {} }: PodDisruptionBudget, failure: string, now: Date): Pick<BudgetPlan, 'status' | 'failure'> {
  const { observedGeneration } = status;
  const condition = {
    type: 'DisruptionAllowed',
    status: 'False',
    reason: 'SyncFailed',
    message: failure,
    ...(observedGeneration !== undefined && { observedGeneration }),
  };
  const conditions = setCondition(status.conditions, condition, secondsTimestamp(now));
  const next = { ...status, disruptionsAllowed: 0, conditions };
  return { status: isDeepStrictEqual(next, { disruptionsAllowed: 0, ...status }) ? undefined : next, failure };
}

function isHealthy(pod: Pod, disrupted: Readonly<Record<string, Timestamp>>): boolean {
  return !pod.metadata?.deletionTimestamp && !((pod.metadata?.name ?? '') in disrupted) && isPodReady(pod);
}

interface Expected {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
  readonly unmanaged: readonly string[];
}

/** Whether how many pods there should be depends on what their controllers want, and not on what is there. */
export function needsScales({ spec: { minAvailable, maxUnavailable } = {} }: PodDisruptionBudget): boolean {
  return maxUnavailable !== undefined || minAvailable?.type === 1;
}

/**
 * How many pods there should be, and how many of them healthy. A number that must stay available counts the pods that
 * are there; every other bound is a part of the whole, which the pods' controllers know.
 */
function computeExpected(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  scales: ControllerScales,
): Expected | { readonly failure: string } {
  const { minAvailable, maxUnavailable } = budget.spec ?? {};
  if (!needsScales(budget)) {
    const expectedPods = minAvailable ? pods.length : 0;
    return { expectedPods, desiredHealthy: minAvailable?.intVal ?? 0, unmanaged: [] };
  }
  const unmanaged = pods.filter((pod) => !controllerOf(pod)).map(({ metadata }) => metadata?.name ?? '');
  const replicas = new Map<string, number>();
  for (const pod of pods) {
    const controller = controllerOf(pod);
    if (!controller) continue;
    const found = scales.get(controller.uid ?? '') ?? { problem: `found no controllers for pod "${pod.metadata?.name ?? ''}"` };
    if ('problem' in found) return { failure: found.problem };
    replicas.set(found.uid, found.replicas);
  }
  const expectedPods = [...replicas.values()].reduce((sum, each) => sum + each, 0);
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
