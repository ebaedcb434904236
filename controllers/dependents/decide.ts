import type { ObjectMeta, OwnerReference } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { finalizers } from '../../api/meta/well-known.ts';

/**
 * What is known of an owner: it is there, or cannot be judged; it does not exist, or is another of that name; or it is
 * there, but only until its dependents are gone.
 */
export type OwnerState = 'present' | 'absent' | 'waiting';

export interface JudgedOwner {
  readonly reference: OwnerReference;
  readonly state: OwnerState;
}

export type DependentAction =
  | { readonly type: 'keep' }
  /** Some owners remain: the references to the others are dropped. */
  | { readonly type: 'release'; readonly ownerReferences: readonly OwnerReference[] }
  /**
   * `unblock`: a dependent of the object waits for the object, so the object must not keep its owner waiting in turn.
   */
  | { readonly type: 'delete'; readonly propagationPolicy: Propagation; readonly unblock: boolean };

type Propagation = 'Background' | 'Foreground' | 'Orphan';

/** Gives an object's dependents. They are asked for only where they matter: a ReplicaSet may have thousands of pods. */
type Dependents = () => readonly ApiObject[];

/** What becomes of an object that has owners and is not being deleted. It lives as long as one of them does. */
export function decideDependent(object: ApiObject, owners: readonly JudgedOwner[], dependentsOf: Dependents): DependentAction {
  if (owners.length === 0) return { type: 'keep' };
  const present = owners.filter(({ state }) => state === 'present');
  if (present.length === owners.length) return { type: 'keep' };
  if (present.length > 0) return { type: 'release', ownerReferences: present.map(({ reference }) => reference) };
  const dependents = owners.some(({ state }) => state === 'waiting') ? dependentsOf() : [];
  const inForeground = dependents.length > 0;
  const propagationPolicy = inForeground ? 'Foreground' : policyOf(object.metadata);
  return { type: 'delete', propagationPolicy, unblock: inForeground && dependents.some(isWaitingForDependents) };
}

/** What a finalizer on the object says that shall become of its own dependents. */
function policyOf(metadata: ObjectMeta | undefined): Propagation {
  if (hasFinalizer(metadata, finalizers.orphan)) return 'Orphan';
  return hasFinalizer(metadata, finalizers.foregroundDeletion) ? 'Foreground' : 'Background';
}

export type OwnerAction =
  | { readonly type: 'wait' }
  /** The dependents lose their reference, then the finalizer goes. */
  | { readonly type: 'orphan'; readonly finalizers: readonly string[] }
  /** Nothing that blocks it is left: the finalizer goes. */
  | { readonly type: 'finish'; readonly finalizers: readonly string[] };

/** What an object that is being deleted waits for. Its dependents delete themselves, see decideDependent. */
export function decideOwner({ metadata }: ApiObject, dependentsOf: Dependents): OwnerAction {
  const without = (name: string) => (metadata?.finalizers ?? []).filter((each) => each !== name);
  if (hasFinalizer(metadata, finalizers.orphan)) return { type: 'orphan', finalizers: without(finalizers.orphan) };
  if (!hasFinalizer(metadata, finalizers.foregroundDeletion)) return { type: 'wait' };
  // An object that names itself as its owner would wait for itself.
  const others = dependentsOf().filter((dependent) => dependent.metadata?.uid !== metadata?.uid);
  const blocking = others.some((dependent) => isBlocking(dependent, metadata?.uid));
  return blocking ? { type: 'wait' } : { type: 'finish', finalizers: without(finalizers.foregroundDeletion) };
}

/** Whether the object is being deleted and stays until its dependents are gone. */
export function isWaitingForDependents({ metadata }: ApiObject): boolean {
  return metadata?.deletionTimestamp !== undefined && hasFinalizer(metadata, finalizers.foregroundDeletion);
}

function isBlocking({ metadata }: ApiObject, owner: string | undefined): boolean {
  return metadata?.ownerReferences?.some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true) === true;
}

function hasFinalizer(metadata: ObjectMeta | undefined, name: string): boolean {
  return metadata?.finalizers?.includes(name) === true;
}
