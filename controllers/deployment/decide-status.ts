import { isDeepStrictEqual } from 'node:util';
import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from '../../api/generated/types.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { dueAtOf, withAvailable, withFailure, withProgress } from './conditions.ts';
import type { Family } from './revisions.ts';
import { availableOf, boundsOf, readyOf, replicasOf, statusReplicasOf, sum, terminatingOf } from './sizes.ts';

export interface StatusInput {
  readonly deployment: Deployment;
  readonly family: Family;
  /** The conditions to start from: those of before, with what this look has found out. */
  readonly conditions: readonly DeploymentCondition[];
  /** Whether a rollout is judged: not while the Deployment is paused or resized. */
  readonly judgesProgress: boolean;
  /** How often the name of the next ReplicaSet was taken. */
  readonly collisionCount?: number | undefined;
  readonly now: number;
}

/** The status as the ReplicaSets come to it. */
export function computeStatus(input: StatusInput): DeploymentStatus {
  const { deployment, family, now } = input;
  const { current, old } = family;
  const sets: readonly ReplicaSet[] = current ? [current, ...old] : old;
  const availableReplicas = sum(sets, availableOf);
  const collisionCount = input.collisionCount ?? deployment.status?.collisionCount;
  const counts: DeploymentStatus = {
    observedGeneration: deployment.metadata?.generation ?? 0,
    replicas: sum(sets, statusReplicasOf),
    updatedReplicas: current ? statusReplicasOf(current) : 0,
    readyReplicas: sum(sets, readyOf),
    availableReplicas,
    unavailableReplicas: Math.max(0, sum(sets, replicasOf) - availableReplicas),
    terminatingReplicas: sum(sets, terminatingOf),
    ...(collisionCount !== undefined && { collisionCount }),
  };
  const least = replicasOf(deployment) - boundsOf(deployment).maxUnavailable;
  let conditions = withAvailable(input.conditions, availableReplicas >= least, now);
  if (input.judgesProgress) {
    conditions = withProgress({ deployment, current, next: { ...counts, conditions }, now });
    conditions = withFailure(conditions, sets, now);
  }
  return { ...counts, conditions };
}

export function isSameStatus(next: DeploymentStatus, { status = {} }: Deployment): boolean {
  const byType = (conditions: readonly DeploymentCondition[] = []) =>
    conditions.toSorted((a, b) => ((a.type ?? '') < (b.type ?? '') ? -1 : 1));
  return isDeepStrictEqual(
    { ...next, conditions: byType(next.conditions) },
    { ...status, conditions: byType(status.conditions) },
  );
}

/** In how many ms the progress deadline passes; undefined: it does not run. */
export function deadlineInMs(deployment: Deployment, status: DeploymentStatus, now: number): number | undefined {
  const dueAt = dueAtOf(deployment, findCondition(status.conditions, 'Progressing'));
  // A millisecond later it has passed.
  return dueAt === undefined ? undefined : Math.max(0, dueAt - now) + 1;
}
