import type { Job, Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { jobTrackingFinalizer, workloadAnnotations } from '../../api/meta/workload-names.ts';

/** What a Job names that this controller looks after; an absent name is the same. */
const ownName = 'kubernetes.io/job-controller';

export function isManagedElsewhere({ spec }: Job): boolean {
  return (spec?.managedBy ?? ownName) !== ownName;
}

/** How the Job ended; undefined while it goes on. */
export function endOf({ status }: Job): 'Complete' | 'Failed' | undefined {
  if (isConditionTrue(status?.conditions, 'Complete')) return 'Complete';
  return isConditionTrue(status?.conditions, 'Failed') ? 'Failed' : undefined;
}

export const isIndexed = ({ spec }: Job): boolean => spec?.completionMode === 'Indexed';

export const isSuspended = ({ spec }: Job): boolean => spec?.suspend === true;

export const replacesOnlyFailed = ({ spec }: Job): boolean => spec?.podReplacementPolicy === 'Failed';

export const hasLimitPerIndex = ({ spec }: Job): boolean => spec?.backoffLimitPerIndex !== undefined;

/** Whether the pod is still to be counted. */
export function isTracked({ metadata }: Pod): boolean {
  return metadata?.finalizers?.includes(jobTrackingFinalizer) === true;
}

export const isTerminating = (pod: Pod): boolean => pod.metadata?.deletionTimestamp !== undefined && !isFinished(pod);

export const hasSucceeded = ({ status }: Pod): boolean => status?.phase === 'Succeeded';

/**
 * Whether the pod counts as failed: it has, or it is deleted before it ended. A Job that replaces only failed pods
 * waits for the phase of one that is deleted, but not for one that never ran and is deleted without grace, which is
 * how an agent, or the server where there is no agent, says that it will not run: nothing gives that a phase.
 */
export function hasFailed(job: Job, { metadata, status }: Pod): boolean {
  if (status?.phase === 'Failed') return true;
  if (metadata?.deletionTimestamp === undefined || status?.phase === 'Succeeded') return false;
  if (!replacesOnlyFailed(job)) return true;
  return !metadata.deletionGracePeriodSeconds && (status?.phase ?? 'Pending') === 'Pending';
}

/** The pod's index; undefined where it has none. */
export function indexOf({ metadata }: Pod): number | undefined {
  const text = metadata?.annotations?.[workloadAnnotations.completionIndex] ?? '';
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** Whether the pod may count for the Job: one with indexes counts only pods of its indexes. */
export function hasValidIndex(job: Job, pod: Pod): boolean {
  if (!isIndexed(job)) return true;
  const index = indexOf(pod);
  return index !== undefined && index < (job.spec?.completions ?? 0);
}

/** How often pods of this one's index failed before it. */
export interface IndexFailures {
  readonly counted: number;
  /** By the failure policy. */
  readonly ignored: number;
}

export function failuresBefore({ metadata }: Pod): IndexFailures {
  const read = (name: string): number => {
    const text = metadata?.annotations?.[name] ?? '';
    return /^\d{1,10}$/.test(text) && Number(text) < 2 ** 31 ? Number(text) : 0;
  };
  return { counted: read(workloadAnnotations.indexFailureCount), ignored: read(workloadAnnotations.indexIgnoredFailureCount) };
}
