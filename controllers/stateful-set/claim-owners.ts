import type { ObjectMeta, OwnerReference, PersistentVolumeClaim, Pod, StatefulSet } from '../../api/generated/types.ts';
import { statefulSetKind } from '../../api/kinds/stateful-set/new-pod.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { controllerReference } from '../../api/meta/owner.ts';

const podKind = { apiVersion: 'v1', kind: 'Pod' };

/** A claim, the pod that it is made for, and whether that pod is one too many. */
export interface ClaimOfPod {
  readonly set: StatefulSet;
  readonly claim: PersistentVolumeClaim;
  readonly pod: Pod;
  readonly isSurplus: boolean;
}

/**
 * The owners that a claim should have, where it has others: what it is to go with. Kubernetes' table
 * (stateful_set_utils.go):
 *
 *     whenDeleted  whenScaled   of a pod that stays   of a pod too many
 *     Retain       Retain       nothing               nothing
 *     Delete       Retain       the set               the set
 *     Retain       Delete       nothing               the pod
 *     Delete       Delete       the set               the pod
 *
 * A claim that belongs to an earlier set or pod of the name is left alone: it goes with what it belongs to. One that
 * another object controls is left to that.
 */
export function decideClaimOwners(of: ClaimOfPod): OwnerReference[] | undefined {
  const { set, claim, pod } = of;
  const present = claim.metadata?.ownerReferences ?? [];
  if (present.some((reference) => isStale(reference, statefulSetKind, set) || isStale(reference, podKind, pod))) return undefined;
  const others = present.filter(({ uid }) => uid !== set.metadata?.uid && uid !== pod.metadata?.uid);
  const wanted = hasConflict(of) ? others : [...others, ...wantedOwners(of)];
  return equalValues(sorted(wanted), sorted(present)) ? undefined : wanted;
}

function wantedOwners({ set, pod, isSurplus }: ClaimOfPod): OwnerReference[] {
  const { whenDeleted, whenScaled } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
  if (whenScaled === 'Delete' && isSurplus) return [controllerReference(podKind, pod)];
  return whenDeleted === 'Delete' ? [controllerReference(statefulSetKind, set)] : [];
}

/** Whether another object controls a claim that is to go with the set or the pod. */
export function hasConflict({ set, claim, pod }: ClaimOfPod): boolean {
  const { whenDeleted, whenScaled } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
  if (whenDeleted !== 'Delete' && whenScaled !== 'Delete') return false;
  const own = [set.metadata?.uid, pod.metadata?.uid];
  return (claim.metadata?.ownerReferences ?? []).some(({ controller, uid }) => controller === true && !own.includes(uid));
}

/** Whether the claim goes with a pod of this name that is not there any more: a new pod is to have another claim. */
export function goesWithEarlierPod(set: StatefulSet, claim: PersistentVolumeClaim, name: string): boolean {
  if (set.spec?.persistentVolumeClaimRetentionPolicy?.whenScaled !== 'Delete') return false;
  return (claim.metadata?.ownerReferences ?? []).some((reference) => isStale(reference, podKind, { metadata: { name } }));
}

/** Whether a reference names an earlier object of the same kind and name. */
function isStale(
  { apiVersion, kind, name, uid }: OwnerReference,
  of: { readonly apiVersion: string; readonly kind: string },
  { metadata }: { metadata?: ObjectMeta },
): boolean {
  return apiVersion === of.apiVersion && kind === of.kind && name === metadata?.name && uid !== metadata?.uid;
}

const sorted = (references: readonly OwnerReference[]): OwnerReference[] =>
  references.toSorted((a, b) => ((a.uid ?? '') < (b.uid ?? '') ? -1 : 1));
