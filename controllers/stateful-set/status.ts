import { isDeepStrictEqual } from 'node:util';
import type { Pod, StatefulSet, StatefulSetStatus } from '../../api/generated/types.ts';
import { isAvailable } from '../owned-pods/availability.ts';
import { isLeaving, isRunningAndReady, ordinalOf, revisionOf, wishesOf } from './replicas.ts';

export interface StatusInput {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  readonly current: string;
  readonly update: string;
  readonly now: number;
}

/**
 * The status as it should be; undefined when it is so. An update is complete, and its revision the current one, when
 * all pods are there, ready and of it.
 */
export function computeStatus({ set, pods, current, update, now }: StatusInput): StatefulSetStatus | undefined {
  const { status = {}, metadata } = set;
  const { start, end, minReadySeconds, isRolling } = wishesOf(set);
  const own = pods.filter((pod) => ordinalOf(set, pod) !== undefined && pod.status?.phase);
  const ready = own.filter(isRunningAndReady);
  const count = (revision: string): number => own.filter((pod) => !isLeaving(pod) && revisionOf(pod) === revision).length;
  const updated = count(update);
  const isComplete = isRolling && [updated, ready.length, own.length].every((each) => each === end - start);
  const next: StatefulSetStatus = {
    observedGeneration: metadata?.generation ?? 0,
    replicas: own.length,
    readyReplicas: ready.length,
    availableReplicas: ready.filter((pod) => isAvailable(pod, minReadySeconds, now)).length,
    currentReplicas: isComplete ? updated : count(current),
    updatedReplicas: updated,
    currentRevision: isComplete ? update : current,
    updateRevision: update,
    collisionCount: status.collisionCount ?? 0,
    conditions: status.conditions ?? [],
  };
  return isDeepStrictEqual(next, { ...status, conditions: status.conditions ?? [] }) ? undefined : next;
}
