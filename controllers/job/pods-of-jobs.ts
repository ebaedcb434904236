import type { Pod } from '../../api/generated/types.ts';
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
