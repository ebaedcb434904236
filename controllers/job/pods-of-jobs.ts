import type { Job, Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import type { Indexers } from '../definition.ts';
import { ownedIndexers, ownerKey } from '../owned-pods/pod-index.ts';
import { isTracked } from './job-facts.ts';

/** The uid of the Job that controls the pod. */
export function jobUidOf(pod: Pod): string | undefined {
  const controller = controllerOf(pod);
  return controller?.kind === 'Job' && controller.apiVersion?.startsWith('batch/') ? controller.uid : undefined;
}

const ofJob = (pod: Pod): readonly string[] => {
  const uid = jobUidOf(pod);
  return uid === undefined ? [] : [ownerKey(pod.metadata?.namespace, uid)];
};

/**
 * Pods by namespace and uid of their Job: those that matter to it, which are those that have not ended or are still to
 * be counted, and those that are still to be counted.
 */
export const jobPodIndexers: Indexers<Pod> = {
  ...ownedIndexers,
  jobUid: (pod) => (isFinished(pod) && !isTracked(pod) ? [] : ofJob(pod)),
  trackedJobUid: (pod) => (isTracked(pod) ? ofJob(pod) : []),
};

/**
 * Pods with the Job's finalizer that the Job no longer owns and that nothing adopts or releases. Either the Job or the
 * pod is being deleted, and the pod has lost its owner reference (Orphan); or the Job is being deleted, and the pod's
 * labels have changed. An uncounted pod is counted only after its finalizer is removed.
 */
export function straysOf(job: Job, owned: readonly Pod[], candidates: Iterable<Pod>): Pod[] {
  const { succeeded = [], failed = [] } = job.status?.uncountedTerminatedPods ?? {};
  const uncounted = new Set([...succeeded, ...failed]);
  if (uncounted.size === 0 && !job.metadata?.deletionTimestamp) return [];
  const own = new Set(owned);
  const isOurs = (pod: Pod): boolean => jobUidOf(pod) === job.metadata?.uid || uncounted.has(pod.metadata?.uid ?? '');
  return [...candidates].filter((pod) => isTracked(pod) && !own.has(pod) && isOurs(pod));
}
