import type { Deployment, ReplicaSet } from '../../api/generated/types.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';
import { byAge, type Family, sizeIn } from './revisions.ts';
import { availableOf, boundsOf, isRolling, replicasOf, sum, withReplicas } from './sizes.ts';

/** How many replicas a ReplicaSet shall have. */
export interface Resize {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

const all = ({ current, old }: Family): ReplicaSet[] => (current ? [...old, current] : [...old]);

/** Whether the Deployment's size has changed since its ReplicaSets were scaled. */
export function isScaling(deployment: Deployment, family: Family): boolean {
  const wanted = replicasOf(deployment);
  return withReplicas(all(family)).some((set) => !hasNoted(set, wanted));
}

/** Whether a ReplicaSet was scaled for this size of the whole, or notes none. */
function hasNoted(set: ReplicaSet, wanted: number): boolean {
  const noted = sizeIn(set, workloadAnnotations.desiredReplicas);
  return noted === undefined || noted === wanted;
}

/**
 * Sizes for a Deployment that is resized or paused. One ReplicaSet that has pods (or else the newest) takes the whole
 * change. In the middle of a rolling update each takes a part of it in proportion to its size; what is left over by
 * rounding goes to the largest.
 */
export function decideScale(deployment: Deployment, family: Family): Resize[] {
  const wanted = replicasOf(deployment);
  const sets = withReplicas(all(family));
  const only = sets.length === 0 ? (family.current ?? family.old.at(-1)) : sets.length === 1 ? sets[0] : undefined;
  // A ReplicaSet that already has the right size still has to record the new size of the Deployment, or the rollout
  // never goes on.
  if (only) return replicasOf(only) === wanted && hasNoted(only, wanted) ? [] : [{ set: only, replicas: wanted }];
  if (sets.length === 0) return [];
  if (isSaturated(deployment, family.current)) return withReplicas(family.old).map((set) => ({ set, replicas: 0 }));
  if (isRolling(deployment)) return decideParts(deployment, sets);
  // Their sizes are the rollout's, which goes on once they note the new size of the whole.
  return sets.filter((set) => !hasNoted(set, wanted)).map((set) => ({ set, replicas: replicasOf(set) }));
}

/** Whether the present ReplicaSet has all the pods that are wanted, and all are available. */
function isSaturated(deployment: Deployment, current: ReplicaSet | undefined): boolean {
  const wanted = replicasOf(deployment);
  return (
    current !== undefined &&
    replicasOf(current) === wanted &&
    availableOf(current) === wanted &&
    sizeIn(current, workloadAnnotations.desiredReplicas) === wanted
  );
}

function decideParts(deployment: Deployment, sets: readonly ReplicaSet[]): Resize[] {
  const wanted = replicasOf(deployment);
  const allowed = wanted > 0 ? wanted + boundsOf(deployment).maxSurge : 0;
  const toAdd = allowed - sum(sets, replicasOf);
  // The largest first; of equal ones the newer when there is something to add, and the older when something goes.
  const direction = toAdd > 0 ? -1 : 1;
  const sorted = sets.toSorted((a, b) => replicasOf(b) - replicasOf(a) || direction * byAge(a, b));
  let added = 0;
  const sizes = sorted.map((set) => {
    const part = partOf(deployment, set, toAdd, added);
    added += part;
    return replicasOf(set) + part;
  });
  // What rounding leaves over goes to the largest; what it leaves to take away, to the next where that is used up.
  for (let at = 0; added !== toAdd && at < sizes.length; at++) {
    const rest = Math.max(-sizes[at]!, toAdd - added);
    sizes[at]! += rest;
    added += rest;
  }
  // Also those that stay as large: they note the new size of the whole.
  return sorted.map((set, at) => ({ set, replicas: sizes[at]! }));
}

/** The part of `toAdd` (negative: to take away) that a ReplicaSet takes when others have taken `added`. */
function partOf(deployment: Deployment, set: ReplicaSet, toAdd: number, added: number): number {
  if (toAdd === 0 || toAdd === added) return 0;
  const fraction = fractionOf(deployment, set);
  return toAdd > 0 ? Math.max(0, Math.min(fraction, toAdd - added)) : Math.min(0, Math.max(fraction, toAdd - added));
}

function fractionOf(deployment: Deployment, set: ReplicaSet): number {
  const wanted = replicasOf(deployment);
  const own = replicasOf(set);
  if (wanted === 0) return -own;
  const before = sizeIn(set, workloadAnnotations.maxReplicas) || deployment.status?.replicas || own;
  return Math.round((own * (wanted + boundsOf(deployment).maxSurge)) / before) - own;
}
