import type { ObjectMeta, OwnerReference } from '../generated/types.ts';

interface Owned {
  metadata?: ObjectMeta;
}

/** The owner that controls the object, if it has one. */
export function controllerOf(object: Owned): OwnerReference | undefined {
  return object.metadata?.ownerReferences?.find((reference) => reference.controller === true);
}

/** Whether the object names `owner` among its owners; judged by uid, because names are used again. */
export function isOwnedBy(object: Owned, owner: Owned): boolean {
  const uid = owner.metadata?.uid;
  return uid !== undefined && object.metadata?.ownerReferences?.some((reference) => reference.uid === uid) === true;
}

/** Whether `owner` is the one that controls the object. */
export function isControlledBy(object: Owned, owner: Owned): boolean {
  const uid = owner.metadata?.uid;
  return uid !== undefined && controllerOf(object)?.uid === uid;
}

/** A reference that makes `owner` the controller: it is deleted after its dependents, and they with it. */
export function controllerReference(kind: { apiVersion: string; kind: string }, owner: Owned): OwnerReference {
  return { ...ownerReference(kind, owner), controller: true, blockOwnerDeletion: true };
}

/** A plain reference. */
export function ownerReference(kind: { apiVersion: string; kind: string }, owner: Owned): OwnerReference {
  return { apiVersion: kind.apiVersion, kind: kind.kind, name: owner.metadata?.name ?? '', uid: owner.metadata?.uid ?? '' };
}
