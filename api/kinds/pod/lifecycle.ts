import type { Pod } from '../../generated/types.ts';
import { longestSeconds } from '../../meta/time.ts';
import type { Lifecycle } from '../kind.ts';
import { markGated } from './gates.ts';
import { mergeMatchLabelKeys } from './match-label-keys.ts';
import { qosClass } from './qos.ts';
import { restoreAdmitted } from './restore-admitted.ts';

/** Whether all containers of the pod have ended for good. */
export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

export const podLifecycle: Lifecycle<Pod> = {
  prepareForCreate(pod) {
    pod.status = { phase: 'Pending', qosClass: qosClass(pod) };
    markGated(pod);
    mergeMatchLabelKeys(pod);
  },
  /**
   * The class is decided once; ephemeral containers come by their own subresource. What admission said need not be said
   * again.
   */
  prepareForUpdate(next, previous) {
    if (next.spec && previous.spec) restoreAdmitted(next.spec, previous.spec);
    if (next.status && previous.status?.qosClass) next.status.qosClass = previous.status.qosClass;
  },
  gracePeriodSeconds(pod, requested) {
    if (!pod.spec?.nodeName || isFinished(pod)) return undefined;
    const seconds = requested ?? pod.spec.terminationGracePeriodSeconds ?? 30;
    return seconds <= 0 ? undefined : Math.min(seconds, longestSeconds);
  },
};
