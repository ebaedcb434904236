import type { Job, JobStatus, Pod, UncountedTerminatedPods } from '../../api/generated/types.ts';
import type { Ending } from './ending.ts';
import { judgeFailure } from './failure-policy.ts';
import { hasFailed, hasSucceeded, hasValidIndex, indexOf, isIndexed, isTracked } from './job-facts.ts';
import { indexesOf, type Tally } from './tally.ts';

/**
 * So many pods at most are on their way from "ended" to "counted", so that the status stays small. Kubernetes' figure.
 */
export const mostUncounted = 500;

/** What a Job counts next: the counts of its status, and the pods that may go once those are written. */
export interface Counts extends Pick<JobStatus, 'succeeded' | 'failed' | 'completedIndexes' | 'failedIndexes'> {
  readonly uncountedTerminatedPods: UncountedTerminatedPods;
  /** Their finalizers are taken off after the counts have been written. */
  readonly release: readonly Pod[];
}

export interface CountsInput {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly strays: readonly Pod[];
  readonly tally: Tally;
  readonly ending: Ending | undefined;
}

/**
 * Each pod is counted once:
 *
 *     ended, with finalizer --1--> uid among the uncounted --2--> finalizer off --3--> out of the uncounted, one more
 *
 * 1 and 3 are writes of the status, here; 2 is the controller's. Whatever happens in between, the next look goes on
 * from there. An index that has succeeded needs no uid: it is counted as long as it is in the status.
 */
export function decideCounts({ job, pods, strays, tally, ending }: CountsInput): Counts {
  const { succeeded = 0, failed = 0, uncountedTerminatedPods: known = {} } = job.status ?? {};
  const tracked = pods.filter(isTracked);
  const uids = new Set([...tracked, ...strays].map(({ metadata }) => metadata?.uid));
  const [knownSucceeded = [], knownFailed = []] = [known.succeeded, known.failed];
  const stillSucceeded = knownSucceeded.filter((uid) => uids.has(uid));
  const stillFailed = knownFailed.filter((uid) => uids.has(uid));
  const added = addNew({ job, tally, ending }, tracked, { succeeded: stillSucceeded, failed: stillFailed });
  return {
    ...(isIndexed(job) ? indexCounts(tally) : { succeeded: succeeded + knownSucceeded.length - stillSucceeded.length }),
    failed: failed + knownFailed.length - stillFailed.length,
    ...added,
    release: [...added.release, ...strays],
  };
}

function indexCounts({ succeededIndexes, failedIndexes }: Tally): Partial<Counts> {
  return {
    succeeded: succeededIndexes?.size ?? 0,
    completedIndexes: succeededIndexes?.toString() ?? '',
    ...(failedIndexes && { failedIndexes: failedIndexes.toString() }),
  };
}

interface Uids {
  readonly succeeded: readonly string[];
  readonly failed: readonly string[];
}

/** Pods that have ended since, until there are enough of them. */
function addNew(
  { job, tally, ending }: Omit<CountsInput, 'pods' | 'strays'>,
  tracked: readonly Pod[],
  still: Uids,
): Pick<Counts, 'uncountedTerminatedPods' | 'release'> {
  const known = new Set([...still.succeeded, ...still.failed]);
  const next = { succeeded: [...still.succeeded], failed: [...still.failed] };
  const release: Pod[] = [];
  const { completedIndexes } = indexesOf(job);
  let newIndexes = 0;
  const order = isIndexed(job) ? tracked.toSorted((a, b) => (indexOf(a) ?? -1) - (indexOf(b) ?? -1)) : tracked;
  for (const pod of order) {
    if (newIndexes + next.succeeded.length + next.failed.length >= mostUncounted) break;
    if (!mayGo(pod, { job, tally, ending })) continue;
    release.push(pod);
    const uid = pod.metadata?.uid ?? '';
    if (known.has(uid) || !hasValidIndex(job, pod)) continue;
    if (hasSucceeded(pod)) {
      if (!isIndexed(job)) next.succeeded.push(uid);
      else if (completedIndexes?.has(indexOf(pod) ?? 0) === false) newIndexes++;
    } else if (countsAsFailed(pod, job, ending)) next.failed.push(uid);
  }
  const uncounted = {
    ...(next.succeeded.length > 0 && { succeeded: next.succeeded }),
    ...(next.failed.length > 0 && { failed: next.failed }),
  };
  return { uncountedTerminatedPods: uncounted, release };
}

/** Whether the Job needs the pod no longer, so that its tracking finalizer can be removed. */
function mayGo(pod: Pod, { job, tally, ending }: Omit<CountsInput, 'pods' | 'strays'>): boolean {
  if (job.metadata?.deletionTimestamp || hasSucceeded(pod)) return true;
  if (ending && pod.metadata?.deletionTimestamp) return true;
  if (!hasFailed(job, pod)) return false;
  return ending !== undefined || tally.delayed.get(indexOf(pod) ?? -1) !== pod;
}

/** Pods that a failing Job ends itself have failed with it. */
function countsAsFailed(pod: Pod, job: Job, ending: Ending | undefined): boolean {
  const isEnded = hasFailed(job, pod) || (ending?.last === 'Failed' && pod.metadata?.deletionTimestamp !== undefined);
  return isEnded && judgeFailure(job, pod).counts;
}
