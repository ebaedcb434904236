import { isDeepStrictEqual } from 'node:util';
import type {
  LabelSelector,
  ObjectMeta,
  Pod,
  PodTemplateSpec,
  ReplicaSetCondition,
  ReplicaSetStatus,
} from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { compileLabelSelector } from '../../api/meta/labels.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { isActive, isAvailable, nextAvailableInMs } from '../owned-pods/availability.ts';
import { inDeletionOrder } from '../owned-pods/deletion-order.ts';

/** What ReplicaSets and ReplicationControllers have in common. */
export interface ReplicaView {
  readonly metadata: ObjectMeta;
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly selector: LabelSelector | undefined;
  readonly template: PodTemplateSpec;
  readonly status: ReplicaSetStatus;
  /** Whether the status has a count of pods that are on their way out. */
  readonly countsTerminating: boolean;
}

/** So many pods are made or deleted at a time; then the outcome is looked at. Kubernetes' figure. */
export const burst = 500;

export type ReplicaPlan =
  | { readonly do: 'create'; readonly count: number }
  | { readonly do: 'delete'; readonly pods: readonly Pod[] }
  | { readonly do: 'nothing' };

/**
 * How to get from the pods that there are to those that are wanted. `owned` are the owner's pods, ended and ending ones
 * included; `onNode` says how many of their like each node has.
 */
export function decideReplicas(
  { metadata, replicas }: ReplicaView,
  owned: readonly Pod[],
  { onNode, now }: { readonly onNode: () => ReadonlyMap<string, number>; readonly now: number },
): ReplicaPlan {
  if (metadata.deletionTimestamp) return { do: 'nothing' };
  const active = owned.filter(isActive);
  const missing = replicas - active.length;
  if (missing > 0) return { do: 'create', count: Math.min(missing, burst) };
  if (missing < 0) {
    const order = inDeletionOrder(active, { onNode: onNode(), now });
    return { do: 'delete', pods: order.slice(0, Math.min(-missing, burst)) };
  }
  return { do: 'nothing' };
}

/** What kept the plan from being carried out. */
export interface ReplicaFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly message: string;
}

export interface ReplicaStatusInput {
  readonly view: ReplicaView;
  readonly owned: readonly Pod[];
  readonly failure: ReplicaFailure | undefined;
  readonly now: number;
}

/** The status as it should be; undefined when it is so. */
export function computeReplicaStatus({ view, owned, failure, now }: ReplicaStatusInput): ReplicaSetStatus | undefined {
  const { metadata, minReadySeconds, template, status } = view;
  const active = owned.filter(isActive);
  const matcher = compileLabelSelector({ matchLabels: template.metadata?.labels ?? {} });
  const next: ReplicaSetStatus = {
    replicas: active.length,
    fullyLabeledReplicas: active.filter(({ metadata: own }) => matcher?.matches(own?.labels)).length,
    readyReplicas: active.filter(isPodReady).length,
    availableReplicas: active.filter((pod) => isAvailable(pod, minReadySeconds, now)).length,
    ...(view.countsTerminating && { terminatingReplicas: owned.filter(isTerminating).length }),
    observedGeneration: metadata.generation ?? 0,
    conditions: conditionsWith(status.conditions ?? [], failure, now),
  };
  return isDeepStrictEqual(next, { ...status, conditions: status.conditions ?? [] }) ? undefined : next;
}

/** Whether the pod is on its way out and has not ended yet. */
const isTerminating = (pod: Pod): boolean => pod.metadata?.deletionTimestamp !== undefined && !isFinished(pod);

function conditionsWith(
  conditions: readonly ReplicaSetCondition[],
  failure: ReplicaFailure | undefined,
  now: number,
): ReplicaSetCondition[] {
  const others = conditions.filter(({ type }) => type !== 'ReplicaFailure');
  if (!failure) return others;
  const known = findCondition(conditions, 'ReplicaFailure');
  const lastTransitionTime = known?.lastTransitionTime ?? secondsTimestamp(new Date(now));
  return [...others, { type: 'ReplicaFailure', status: 'True', lastTransitionTime, ...failure }];
}

/** When the status changes by time alone, because a pod has been ready for long enough; in ms from now. */
export function nextStatusInMs({ minReadySeconds }: ReplicaView, owned: readonly Pod[], now: number): number | undefined {
  return nextAvailableInMs(owned.filter(isActive), minReadySeconds, now);
}
