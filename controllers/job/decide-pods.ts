import type { Job, Pod } from '../../api/generated/types.ts';
import { inDeletionOrder } from '../owned-pods/deletion-order.ts';
import type { NewPod } from '../owned-pods/pod-writer.ts';
import { type Backoff, backoffLeftMs, indexBackoffLeftMs } from './back-off.ts';
import type { Ending } from './ending.ts';
import { IndexSet } from './index-set.ts';
import {
  hasFailed,
  hasLimitPerIndex,
  hasValidIndex,
  indexOf,
  isIndexed,
  isSuspended,
  isTerminating,
  isTracked,
  replacesOnlyFailed,
} from './job-facts.ts';
import { newIndexedPod, newPod } from './new-pod.ts';
import type { Tally } from './tally.ts';

/** So many pods are made or deleted at a time; then the outcome is looked at. Kubernetes' figure. */
export const burst = 500;

/** What is done about the pods that run. */
export type PodsStep =
  | { readonly do: 'create'; readonly pods: readonly NewPod[] }
  /** Deletes pods that count as failed: they keep their finalizer until they are counted. */
  | { readonly do: 'delete'; readonly pods: readonly Pod[] }
  /** Lets pods go and deletes them: they do not count. */
  | { readonly do: 'drop'; readonly pods: readonly Pod[] }
  /** Gives pods that run without their finalizer one: the process that let them go died before it deleted them. */
  | { readonly do: 'track'; readonly pods: readonly Pod[] }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'nothing' };

export interface PodsInput {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly tally: Tally;
  readonly ending: Ending | undefined;
  readonly backoff: Backoff;
  /** When failed pods that wait for their replacement were seen to have failed, by uid. */
  readonly seen: ReadonlyMap<string, number>;
  readonly now: number;
}

export function decidePods(input: PodsInput): PodsStep {
  const { job, tally, ending, now } = input;
  const { active } = tally;
  if (job.metadata?.deletionTimestamp) return nothing;
  if (ending) return removal(ending.target === 'FailureTarget' ? 'delete' : 'drop', active);
  if (isSuspended(job)) return removal('drop', active);
  const wanted = computeWanted(job, tally);
  const surplus = surplusOf(job, tally, Math.max(0, active.length - wanted), now);
  if (surplus.length > 0) return removal('drop', surplus);
  const untracked = active.filter((pod) => !isTracked(pod));
  if (untracked.length > 0) return { do: 'track', pods: untracked.slice(0, burst) };
  const missing = wanted - active.length - awaitedOf(job, input.pods).length;
  return missing > 0 ? creation(input, Math.min(missing, burst)) : nothing;
}

const nothing: PodsStep = { do: 'nothing' };

function removal(how: 'delete' | 'drop', pods: readonly Pod[]): PodsStep {
  return pods.length === 0 ? nothing : { do: how, pods: pods.slice(0, burst) };
}

function computeWanted({ spec }: Job, { active, succeeded }: Tally): number {
  const { completions, parallelism = 1 } = spec ?? {};
  // Without completions the first success means that the work is done: what runs ends by itself.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(parallelism, completions - succeeded));
}

/** The pods to delete, at least `least`. Of an Indexed Job: all with no index, a finished or a duplicate one. */
function surplusOf(job: Job, { active, succeededIndexes, failedIndexes }: Tally, least: number, now: number): readonly Pod[] {
  if (least === 0 && !isIndexed(job)) return [];
  const order = inDeletionOrder(active, { onNode: new Map(), now });
  if (!isIndexed(job)) return order.slice(0, least);
  const seen = new Set<number>();
  const extra = new Set<Pod>();
  for (const pod of order.toReversed()) {
    const index = indexOf(pod) ?? 0;
    const isOver = succeededIndexes?.has(index) === true || failedIndexes?.has(index) === true;
    if (!hasValidIndex(job, pod) || isOver || seen.has(index)) extra.add(pod);
    seen.add(index);
  }
  for (const pod of order) if (extra.size < least) extra.add(pod);
  return [...extra];
}

/** Pods that are not replaced before they have ended. */
function awaitedOf(job: Job, pods: readonly Pod[]): Pod[] {
  return replacesOnlyFailed(job) ? pods.filter((pod) => isTerminating(pod) && !hasFailed(job, pod)) : [];
}

function creation({ job, pods, tally, backoff, seen, now }: PodsInput, count: number): PodsStep {
  if (!hasLimitPerIndex(job)) {
    const ms = backoffLeftMs(backoff, now);
    if (ms > 0) return { do: 'wait', ms };
  }
  if (!isIndexed(job)) return { do: 'create', pods: Array.from({ length: count }, () => newPod(job)) };
  const { delayed, succeededIndexes = new IndexSet(), failedIndexes = new IndexSet() } = tally;
  const waits = [...delayed].map(([index, pod]) => {
    return { index, ms: indexBackoffLeftMs(pod, seen.get(pod.metadata?.uid ?? '') ?? now, now) };
  });
  const waiting = waits.filter(({ ms }) => ms > 0);
  const taken = [...tally.active, ...awaitedOf(job, pods)].flatMap((pod) => indexOf(pod) ?? []);
  const unavailable = succeededIndexes.union(failedIndexes).with([...taken, ...waiting.map(({ index }) => index)]);
  const indexes = unavailable.firstAbsent(count, job.spec?.completions ?? 0);
  if (indexes.length > 0) return { do: 'create', pods: indexes.map((index) => newIndexedPod(job, index, delayed.get(index))) };
  return waiting.length > 0 ? { do: 'wait', ms: Math.min(...waiting.map(({ ms }) => ms)) } : nothing;
}
