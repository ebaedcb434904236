import type { Pod } from '../../generated/types.ts';
import { longestSeconds } from '../../meta/time.ts';
import type { Lifecycle } from '../kind.ts';
import { markGated } from './gates.ts';
import { mergeMatchLabelKeys } from './match-label-keys.ts';
import { qosClass } from './qos.ts';

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
    const { priority, preemptionPolicy, serviceAccountName } = previous.spec ?? {};
    if (next.spec && priority !== undefined) next.spec.priority ??= priority;
    if (next.spec && preemptionPolicy !== undefined) next.spec.preemptionPolicy ||= preemptionPolicy;
    if (next.spec && serviceAccountName && !next.spec.serviceAccountName)
      next.spec.serviceAccountName = next.spec.serviceAccount = serviceAccountName;
    if (next.status && previous.status?.qosClass) next.status.qosClass = previous.status.qosClass;
  },
  gracePeriodSeconds(pod, requested) {
    if (!pod.spec?.nodeName || isFinished(pod)) return undefined;
    const seconds = requested ?? pod.spec.terminationGracePeriodSeconds ?? 30;
    return seconds <= 0 ? undefined : Math.min(seconds, longestSeconds);
  },
};
