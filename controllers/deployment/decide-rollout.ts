import type { Deployment, ReplicaSet } from '../../api/generated/types.ts';
import type { Resize } from './decide-scale.ts';
import { byAge, byRevision, type Family } from './revisions.ts';
import { availableOf, boundsOf, isRolling, replicasOf, statusReplicasOf, sum, withReplicas } from './sizes.ts';

/**
 * The next step of a rollout:
 *
 *     create --the set is there--> grow --at its bound--> shrink --nothing to take--> done
 *
 * Each is decided on what the step before has come to, and a rollout that is stuck waits in the same step.
 */
export type RolloutStep =
  /** The ReplicaSet of the present template is to be made, with so many replicas. */
  | { readonly do: 'create'; readonly replicas: number }
  | { readonly do: 'resize'; readonly sizes: readonly Resize[] }
  /** Recreate: pods of old templates are still there. */
  | { readonly do: 'wait' }
  | { readonly do: 'nothing' };

export interface RolloutInput {
  readonly deployment: Deployment;
  readonly family: Family;
  /** Whether pods of old ReplicaSets exist that have not ended. */
  readonly hasOldPods: () => boolean;
}

export function decideRollout(input: RolloutInput): RolloutStep {
  return isRolling(input.deployment) ? decideRolling(input) : decideRecreate(input);
}

function decideRolling({ deployment, family }: RolloutInput): RolloutStep {
  const { current, old } = family;
  if (!current) return { do: 'create', replicas: grownSize(deployment, 0, sum(old, replicasOf)) };
  const grown = decideGrowth(deployment, current, old);
  if (grown !== replicasOf(current)) return { do: 'resize', sizes: [{ set: current, replicas: grown }] };
  const sizes = decideShrinking(deployment, current, old);
  return sizes.length > 0 ? { do: 'resize', sizes } : { do: 'nothing' };
}

/** How large a ReplicaSet of `own` replicas becomes when there are `total` in all: never more than wanted and surge. */
function grownSize(deployment: Deployment, own: number, total: number): number {
  const wanted = replicasOf(deployment);
  const room = wanted + boundsOf(deployment).maxSurge - total;
  return room <= 0 ? own : own + Math.min(room, wanted - own);
}

function decideGrowth(deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): number {
  const [wanted, own] = [replicasOf(deployment), replicasOf(current)];
  return own >= wanted ? wanted : grownSize(deployment, own, own + sum(old, replicasOf));
}

/**
 * The old ReplicaSets become as small as the least number of available pods allows. Pods that are not available go
 * first: they serve nothing, and a rollout back from a broken revision would wait for them.
 */
function decideShrinking(deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): Resize[] {
  const sets = withReplicas(old).toSorted(byAge);
  if (sets.length === 0) return [];
  const least = replicasOf(deployment) - boundsOf(deployment).maxUnavailable;
  const notAvailable = replicasOf(current) - availableOf(current);
  const most = replicasOf(current) + sum(sets, replicasOf) - least - notAvailable;
  if (most <= 0) return [];
  const sizes = new Map(sets.map((set) => [set, replicasOf(set)]));
  let left = most;
  for (const set of sets) {
    const cut = Math.min(left, Math.max(0, replicasOf(set) - availableOf(set)));
    sizes.set(set, sizes.get(set)! - cut);
    left -= cut;
  }
  let spare = availableOf(current) + sum(sets, availableOf) - least;
  for (const set of sets) {
    const cut = Math.max(0, Math.min(spare, sizes.get(set)!));
    sizes.set(set, sizes.get(set)! - cut);
    spare -= cut;
  }
  return [...sizes].flatMap(([set, replicas]) => (replicas === replicasOf(set) ? [] : [{ set, replicas }]));
}

function decideRecreate({ deployment, family, hasOldPods }: RolloutInput): RolloutStep {
  const { current, old } = family;
  const running = withReplicas(old);
  if (running.length > 0) return { do: 'resize', sizes: running.map((set) => ({ set, replicas: 0 })) };
  // A ReplicaSet that has not observed its size of 0 yet may still create pods.
  if (!old.every(isAtRest) || hasOldPods()) return { do: 'wait' };
  const wanted = replicasOf(deployment);
  if (!current) return { do: 'create', replicas: wanted };
  return replicasOf(current) === wanted ? { do: 'nothing' } : { do: 'resize', sizes: [{ set: current, replicas: wanted }] };
}

/** Old ReplicaSets beyond the limit of the history, those of the oldest revisions; only ones without pods. */
export function decideCleanup({ spec }: Deployment, old: readonly ReplicaSet[]): ReplicaSet[] {
  const limit = spec?.revisionHistoryLimit ?? 10;
  const kept = old.filter(({ metadata }) => !metadata?.deletionTimestamp);
  return kept
    .toSorted(byRevision)
    .slice(0, Math.max(0, kept.length - limit))
    .filter((set) => isAtRest(set) && replicasOf(set) === 0 && statusReplicasOf(set) === 0);
}

/** Whether a ReplicaSet's status is of its present size. */
const isAtRest = ({ metadata, status }: ReplicaSet): boolean => (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0);
