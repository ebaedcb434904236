import type { Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { withAllocation, withoutStatus } from './allocation.ts';
import { isAdmitted } from './pod-lifecycle.ts';
import type { PodRecord } from './pod-record.ts';

/** The pod as the node runs it: while another size that was asked for is not given yet, with the one before. */
export function givenPod({ pod, resize }: PodRecord): Pod | undefined {
  return pod && withAllocation(pod, resize.allocation);
}

/** The other pods that hold room on the node. */
export function holdersBeside(record: PodRecord, all: Iterable<PodRecord>): PodRecord[] {
  return [...all].filter((other) => other !== record && holdsRoom(other));
}

/** What a pod holds of the node, whatever its status tells of the time before. */
export function heldBy(record: PodRecord): Pod {
  return withoutStatus(givenPod(record) ?? {});
}

/** Whether the room it takes on the node is still taken. */
function holdsRoom({ pod, life, status }: PodRecord): boolean {
  const ended = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  return pod !== undefined && isAdmitted(life) && life.type !== 'released' && !isFinished(pod) && !ended;
}
