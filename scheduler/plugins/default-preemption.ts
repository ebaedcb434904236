import { findCondition } from '../../api/meta/conditions.ts';
import { type Attempt, definePlugin, type Plugin, type Verdicts } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { type BudgetLister, noBudgets, readBudgets } from '../preemption/budgets.ts';
import { type Candidates, createCandidateSearch } from '../preemption/candidates.ts';
import { type Candidate, compareCandidates } from '../preemption/victims.ts';

export interface PreemptionSource {
  readonly budgets: BudgetLister;
  /** Whether the scheduler is deleting the pod: the watch may not show it yet. */
  isLeaving(uid: string): boolean;
}

const nothing: PreemptionSource = { budgets: noBudgets, isLeaving: () => false };

/** Kubernetes' figures: the search ends when so many nodes, or such a part of all, would do. */
const candidatesAtLeast = 100;
const candidatesShare = 0.1;

/**
 * Makes room for a pod that fits nowhere: finds the node where the least important pods, all of lower priority, would
 * have to go, and as few of them as possible. Budgets are broken only when there is no other way. A node is chosen only
 * if the pod fits there when they are gone, as far as filters can tell; a node that rejects the pod for another reason
 * than its pods is skipped. Pods with `preemptionPolicy: Never` wait.
 */
export function defaultPreemption(source: PreemptionSource = nothing): Plugin {
  const search = createCandidateSearch();
  return definePlugin({
    name: 'DefaultPreemption',
    postFilter(attempt, verdicts, trial) {
      const { pod, nodes } = attempt;
      if (pod.pod.spec?.preemptionPolicy === 'Never') return undefined;
      const waitsOn = nodeBeingEmptied(attempt, verdicts, source);
      if (waitsOn !== undefined) return { nominatedNodeName: waitsOn, victims: [] };
      const best = findBest(attempt, search.begin(attempt, verdicts, trial, readBudgets(source.budgets)));
      const { row, victims, againstBudget } = best ?? { row: -1, victims: [], againstBudget: [] };
      return best && { nominatedNodeName: nodes.names[row]!, victims, againstBudget };
    },
  });
}

/** The node where others are on their way out for this pod: taking more away would be rash. */
function nodeBeingEmptied(
  { pod, nodes, nominatedNodeName }: Attempt,
  verdicts: Verdicts,
  source: PreemptionSource,
): string | undefined {
  const row = nominatedNodeName === undefined ? undefined : nodes.rowOf(nominatedNodeName);
  if (row === undefined || verdicts.rejectionOf(row)?.code === 'unresolvable') return undefined;
  for (const other of nodes.pods[row]!.values())
    if (other.priority < pod.priority && isLeaving(other, source)) return nominatedNodeName;
  return undefined;
}

function isLeaving({ uid, pod }: PodInfo, source: PreemptionSource): boolean {
  if (source.isLeaving(uid)) return true;
  if (pod.metadata?.deletionTimestamp === undefined) return false;
  return findCondition(pod.status?.conditions, 'DisruptionTarget')?.reason === 'PreemptionByScheduler';
}

/** Looks from some node on until enough would do, and on while all of them would break a budget. */
function findBest({ pod, nodes }: Attempt, candidates: Candidates): Candidate | undefined {
  const enough = Math.max(candidatesAtLeast, Math.ceil(nodes.count * candidatesShare));
  const first = startRow(pod.uid, nodes.count);
  let best: Candidate | undefined;
  let found = 0;
  for (let i = 0; i < nodes.count && (found < enough || best!.againstBudget.length > 0); i++) {
    const candidate = candidates.of((first + i) % nodes.count);
    if (!candidate) continue;
    found += 1;
    if (!best || compareCandidates(candidate, best) < 0) best = candidate;
  }
  return best;
}

/** Pods that come together look at different nodes first; the same pod always at the same. */
function startRow(uid: string, count: number): number {
  let hash = 0;
  for (let i = 0; i < uid.length; i++) hash = (hash * 31 + uid.charCodeAt(i)) >>> 0;
  return hash % count;
}
