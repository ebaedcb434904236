import { toMillis } from '../../api/meta/time.ts';
import type { Trial } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { type Budgets, splitByBudgets } from './budgets.ts';

/** A node on which the pod would fit without some others. */
export interface Candidate {
  readonly row: number;
  /** The most important first; at least one. */
  readonly victims: readonly PodInfo[];
  /** The victims that are evicted although their disruption budget does not allow it. */
  readonly againstBudget: readonly PodInfo[];
  /** Their priorities together, each as what it is above the lowest there is, so that more victims are never less. */
  readonly sum: number;
  /** When the first of the most important ones began. */
  readonly start: number;
}

/**
 * The higher priority is more important; among equals what has run longer.
 * A pod that has not started yet is as if it started now.
 */
export function byImportance(a: PodInfo, b: PodInfo): number {
  return b.priority - a.priority || startOf(a) - startOf(b);
}

function startOf({ pod }: PodInfo): number {
  const start = pod.status?.startTime;
  return start ? toMillis(start) : Number.MAX_VALUE;
}

/**
 * The fewest important pods that must leave the node so that the trial's pod fits: all of `lower` are thought away, and
 * then put back one by one as long as it fits, those first whose budget would be broken, then the most important.
 * Undefined when it does not fit without all of them, or fits with all of them.
 */
export function selectVictims(
  { row, lower, budgets }: { readonly row: number; readonly lower: readonly PodInfo[]; readonly budgets: Budgets },
  trial: Trial,
): Candidate | undefined {
  trial.begin(row);
  try {
    for (const pod of lower) trial.take(pod);
    if (!trial.fits()) return undefined;
    const { violating, others } = splitByBudgets(lower.toSorted(byImportance), budgets);
    const broken = violating.filter((pod) => !mayStay(pod, trial));
    const victims = [...broken, ...others.filter((pod) => !mayStay(pod, trial))];
    if (victims.length === 0) return undefined;
    if (broken.length > 0) victims.sort(byImportance);
    // Sorted, so the first of the most important ones is the first of all.
    return { row, victims, againstBudget: broken, sum: sumOf(victims), start: startOf(victims[0]!) };
  } finally {
    trial.end();
  }
}

function mayStay(pod: PodInfo, trial: Trial): boolean {
  trial.put(pod);
  if (trial.fits()) return true;
  trial.take(pod);
  return false;
}

const lowestPriority = -(2 ** 31);

function sumOf(victims: readonly PodInfo[]): number {
  return victims.reduce((sum, { priority }) => sum + priority - lowestPriority, 0);
}

/**
 * Kubernetes' order of nodes: the fewest broken budgets; the least important victim at the top; the lowest sum of
 * priorities; the fewest victims; the latest start of the one that has run longest among the most important. Negative
 * when `a` is better; 0 leaves the first.
 */
export function compareCandidates(a: Candidate, b: Candidate): number {
  return (
    a.againstBudget.length - b.againstBudget.length ||
    a.victims[0]!.priority - b.victims[0]!.priority ||
    a.sum - b.sum ||
    a.victims.length - b.victims.length ||
    b.start - a.start
  );
}
