import type { PodDisruptionBudget } from '../../api/generated/types.ts';
import { compileLabelSelector, type LabelMatcher } from '../../api/meta/labels.ts';
import type { Lister } from '../../client/informer/indexer.ts';
import type { PodInfo } from '../framework/pod-info.ts';

/** A budget as it is when an attempt begins to look for victims. */
export interface Budget {
  readonly allowed: number;
  readonly matches: LabelMatcher['matches'];
  /** Pods whose disruption the budget has counted already. */
  readonly disrupted: Readonly<Record<string, unknown>>;
}

/** The budgets of all namespaces. */
export interface Budgets {
  /** By namespace; only those that protect something. */
  readonly of: ReadonlyMap<string, readonly Budget[]>;
  /** The same text for the same versions of the same budgets. */
  readonly key: string;
}

/** What the plugin reads of budgets: what the informer knows in this moment. */
export type BudgetLister = Pick<Lister<PodDisruptionBudget>, 'list'>;

export const noBudgets: BudgetLister = { list: () => [] };

/** Compiled once for each version of a budget: a new version is another object. */
const matchers = new WeakMap<PodDisruptionBudget, LabelMatcher | undefined>();

function matcherOf(budget: PodDisruptionBudget): LabelMatcher | undefined {
  if (!matchers.has(budget)) matchers.set(budget, compileLabelSelector(budget.spec?.selector ?? {}));
  return matchers.get(budget);
}

/**
 * A budget without a selector, or with one that chooses everything, protects nothing from preemption:
 * so it is in Kubernetes.
 */
export function readBudgets(lister: BudgetLister): Budgets {
  const budgets = new Map<string, Budget[]>();
  let key = '';
  for (const listed of lister.list()) {
    const { metadata, status } = listed;
    const matcher = matcherOf(listed);
    if (!matcher || matcher.requirements.length === 0) continue;
    const { namespace = '', uid, resourceVersion } = metadata ?? {};
    key += `${uid} ${resourceVersion} `;
    const { disruptionsAllowed: allowed = 0, disruptedPods: disrupted = {} } = status ?? {};
    const budget = { allowed, disrupted, matches: (labels: Parameters<LabelMatcher['matches']>[0]) => matcher.matches(labels) };
    budgets.set(namespace, [...(budgets.get(namespace) ?? []), budget]);
  }
  return { of: budgets, key };
}

/** The pods whose end, in this order, their budgets would not allow, and the others; both keep the order. */
export function splitByBudgets(
  pods: readonly PodInfo[],
  budgets: Budgets,
): { readonly violating: readonly PodInfo[]; readonly others: readonly PodInfo[] } {
  if (budgets.of.size === 0) return { violating: [], others: pods };
  const left = new Map<Budget, number>();
  const violating: PodInfo[] = [];
  const others: PodInfo[] = [];
  for (const info of pods) (takeLeave(info, budgets, left) ? others : violating).push(info);
  return { violating, others };
}

/** Takes the pod from what its budgets allow; false when one of them allows no more. */
function takeLeave({ pod: { metadata = {} } }: PodInfo, budgets: Budgets, left: Map<Budget, number>): boolean {
  const { namespace = '', name = '', labels = {} } = metadata;
  let isAllowed = true;
  if (Object.keys(labels).length === 0) return isAllowed;
  for (const budget of budgets.of.get(namespace) ?? []) {
    if (name in budget.disrupted || !budget.matches(labels)) continue;
    const remaining = (left.get(budget) ?? budget.allowed) - 1;
    left.set(budget, remaining);
    if (remaining < 0) isAllowed = false;
  }
  return isAllowed;
}
