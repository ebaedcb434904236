import type { Deployment, IntOrString, ReplicaSet } from '../../api/generated/types.ts';
import { percentOf, scaled } from '../../api/kinds/pod-disruption-budget/scaled.ts';

export const replicasOf = ({ spec }: Deployment | ReplicaSet): number => spec?.replicas ?? 1;
export const statusReplicasOf = ({ status }: ReplicaSet): number => status?.replicas ?? 0;
export const availableOf = ({ status }: ReplicaSet): number => status?.availableReplicas ?? 0;
export const readyOf = ({ status }: ReplicaSet): number => status?.readyReplicas ?? 0;
export const terminatingOf = ({ status }: ReplicaSet): number => status?.terminatingReplicas ?? 0;

export function sum<T>(items: Iterable<T>, of: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}

export function isRolling({ spec }: Deployment): boolean {
  return spec?.strategy?.type !== 'Recreate';
}

/** How many pods a rollout may have too many, and too few. */
export interface Bounds {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/**
 * The bounds of a rolling update in pods: percentages of the surge are rounded up, those of the unavailable ones down;
 * of both 0 the second is 1, since nothing could ever change (Kubernetes: ResolveFenceposts). Without a rolling update
 * both are 0.
 */
export function boundsOf(deployment: Deployment): Bounds {
  const replicas = replicasOf(deployment);
  if (!isRolling(deployment) || replicas === 0)
    return { maxSurge: isRolling(deployment) ? surgeOf(deployment) : 0, maxUnavailable: 0 };
  const maxSurge = surgeOf(deployment);
  const unavailable = roundedDown(deployment.spec?.strategy?.rollingUpdate?.maxUnavailable, replicas);
  const maxUnavailable = maxSurge === 0 && unavailable === 0 ? 1 : unavailable;
  return { maxSurge, maxUnavailable: Math.min(maxUnavailable, replicas) };
}

function surgeOf(deployment: Deployment): number {
  const { maxSurge } = deployment.spec?.strategy?.rollingUpdate ?? {};
  return (maxSurge && scaled(maxSurge, replicasOf(deployment))) || 0;
}

function roundedDown(value: IntOrString | undefined, total: number): number {
  if (!value) return 0;
  if (value.type !== 1) return value.intVal ?? 0;
  return Math.floor(((percentOf(value.strVal ?? '') ?? 0) * total) / 100);
}

/** ReplicaSets that have, or want, pods. */
export const withReplicas = (sets: readonly ReplicaSet[]): ReplicaSet[] => sets.filter((set) => replicasOf(set) > 0);
