import type { Job, Pod } from '../../api/generated/types.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { isActive } from '../owned-pods/availability.ts';
import { endedAt } from './back-off.ts';
import { judgeFailure } from './failure-policy.ts';
import { IndexSet } from './index-set.ts';
import {
  failuresBefore,
  hasFailed,
  hasLimitPerIndex,
  hasSucceeded,
  hasValidIndex,
  indexOf,
  isIndexed,
  isTerminating,
  isTracked,
} from './job-facts.ts';

/** What a Job has, by its pods and its status. */
export interface Tally {
  readonly active: readonly Pod[];
  readonly ready: number;
  readonly terminating: number;
  /** Ended pods that the status does not know yet. */
  readonly newSucceeded: readonly Pod[];
  readonly newFailed: readonly Pod[];
  /** All that have ever succeeded, or, of an Indexed Job, the indexes; and all that failed and count. */
  readonly succeeded: number;
  readonly failed: number;
  /** Undefined without indexes. */
  readonly succeededIndexes: IndexSet | undefined;
  /** Undefined without a limit for each index. */
  readonly failedIndexes: IndexSet | undefined;
  /**
   * With a limit for each index: of each index without an active pod the pod that failed last. It keeps its finalizer
   * until it is replaced, because it has the count of failures that its replacement takes over.
   */
  readonly delayed: ReadonlyMap<number, Pod>;
}

/** `pods` are the Job's own: all that have not ended, and of the ended those that are still to be counted. */
export function computeTally(job: Job, pods: readonly Pod[]): Tally {
  const { succeeded = 0, failed = 0, uncountedTerminatedPods: uncounted } = job.status ?? {};
  const knownSucceeded = new Set(uncounted?.succeeded);
  const knownFailed = new Set(uncounted?.failed);
  const active = pods.filter(isActive);
  const valid = pods.filter((pod) => isTracked(pod) && hasValidIndex(job, pod));
  const isKnown = (pod: Pod): boolean => knownFailed.has(pod.metadata?.uid ?? '') || knownSucceeded.has(pod.metadata?.uid ?? '');
  const { completedIndexes, failedIndexes: failedBefore } = indexesOf(job);
  const newSucceeded = valid.filter((pod) => hasSucceeded(pod) && !isKnown(pod) && completedIndexes?.has(numberOf(pod)) !== true);
  const newFailed = valid.filter((pod) => hasFailed(job, pod) && !isKnown(pod));
  // An index ends once: what a pod that was given up does later does not change that.
  const succeededIndexes = completedIndexes?.with(
    newSucceeded.map(numberOf).filter((index) => failedBefore?.has(index) !== true),
  );
  const ends = newFailed.filter((pod) => failedBefore && succeededIndexes?.has(numberOf(pod)) !== true && failsIndex(job, pod));
  const failedIndexes = failedBefore?.with(ends.map(numberOf));
  return {
    active,
    ready: active.filter(isPodReady).length,
    terminating: pods.filter(isTerminating).length,
    newSucceeded,
    newFailed,
    succeeded: succeededIndexes?.size ?? succeeded + knownSucceeded.size + newSucceeded.length,
    failed: failed + knownFailed.size + newFailed.filter((pod) => judgeFailure(job, pod).counts).length,
    succeededIndexes,
    failedIndexes,
    delayed: failedIndexes && succeededIndexes ? delayedOf(job, valid, succeededIndexes.union(failedIndexes)) : new Map(),
  };
}

const numberOf = (pod: Pod): number => indexOf(pod) ?? 0;

/** The indexes that the status has; undefined where the Job has no such indexes. */
export function indexesOf(job: Job): { readonly completedIndexes?: IndexSet; readonly failedIndexes?: IndexSet } {
  const { completions = 0 } = job.spec ?? {};
  const { completedIndexes, failedIndexes } = job.status ?? {};
  return {
    ...(isIndexed(job) && { completedIndexes: IndexSet.parse(completedIndexes, completions) }),
    ...(hasLimitPerIndex(job) && { failedIndexes: IndexSet.parse(failedIndexes, completions) }),
  };
}

function failsIndex(job: Job, pod: Pod): boolean {
  const { action, counts } = judgeFailure(job, pod);
  return action === 'FailIndex' || (counts && failuresBefore(pod).counted >= (job.spec?.backoffLimitPerIndex ?? 0));
}

function delayedOf(job: Job, pods: readonly Pod[], over: IndexSet): Map<number, Pod> {
  const active = new Set(pods.filter(isActive).map(indexOf));
  const last = new Map<number, Pod>();
  for (const pod of pods) {
    const index = numberOf(pod);
    if (!hasFailed(job, pod) || over.has(index) || active.has(index)) continue;
    const other = last.get(index);
    if (!other || isLater(pod, other)) last.set(index, pod);
  }
  return last;
}

function isLater(pod: Pod, other: Pod): boolean {
  const failures = (each: Pod): number => failuresBefore(each).counted + failuresBefore(each).ignored;
  return failures(pod) > failures(other) || (failures(pod) === failures(other) && endedAt(pod) >= endedAt(other));
}
