import type { Pod } from '../../generated/types.ts';
import { longestSeconds } from '../../meta/time.ts';
import type { Lifecycle } from '../kind.ts';
import { qosClass } from './qos.ts';

/** Whether all containers of the pod have ended for good. */
export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

export const podLifecycle: Lifecycle<Pod> = {
  prepareForCreate(pod) {
    pod.status = { phase: 'Pending', qosClass: qosClass(pod) };
  },
  /** The class is decided once; ephemeral containers come by a door of their own. */
  prepareForUpdate(next, previous) {
    if (next.status && previous.status?.qosClass) next.status.qosClass = previous.status.qosClass;
  },
  gracePeriodSeconds(pod, requested) {
    if (!pod.spec?.nodeName || isFinished(pod)) return undefined;
    const seconds = requested ?? pod.spec.terminationGracePeriodSeconds ?? 30;
    return seconds <= 0 ? undefined : Math.min(seconds, longestSeconds);
  },
};
