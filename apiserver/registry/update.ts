import { badRequest, conflict, type ErrorSubject, type FieldViolation, invalid } from '../../api/errors/index.ts';
import { required } from '../../api/errors/violations.ts';
import { validateConditions } from '../../api/kinds/conditions.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { isKind } from '../../api/kinds/index.ts';
import type { Subresource } from '../../api/kinds/kind.ts';
import { validateMetadata } from '../../api/kinds/metadata.ts';
import { equalValues } from '../../api/meta/equal.ts';
import type { AnyObject } from './any-object.ts';
import { cloneObject } from './clone-object.ts';
import type { KindStore, ObjectName } from './kind-store.ts';
import { metadataForUpdate, validateMetadataUpdate, validateSentMetadata } from './metadata.ts';
import { pruneSent } from './prune.ts';
import type { StoreResult } from './store-values.ts';
import type { WriteContext } from './write-context.ts';

/** What a write replaces: the object without its status, the status alone, or another part of the spec by itself. */
export type WriteTarget = 'object' | 'status' | Subresource<AnyObject>;

/** The target of a write to a subresource. Throws INVALID_ARGUMENT for one that the kind does not have. */
export function writeTargetOf({ kind }: KindStore, subresource: string): WriteTarget {
  if (subresource === '') return 'object';
  if (subresource === 'status' && kind.hasStatus) return 'status';
  const found = Object.hasOwn(kind.subresources ?? {}, subresource) ? kind.subresources?.[subresource] : undefined;
  if (found) return found as Subresource<AnyObject>;
  const others = [...(kind.hasStatus ? ['status'] : []), ...(kind.scale ? ['scale'] : [])];
  const known = [...others, ...Object.keys(kind.subresources ?? {})].map((each) => `"${each}"`);
  throw badRequest(
    `${kind.plural} have no subresource "${subresource}", use ${known.join(', ')}${known.length > 0 ? ' or ' : ''}none`,
  );
}

/**
 * The next version of an object as a write to the target makes it. Throws INVALID_ARGUMENT with every rule that it
 * breaks.
 */
export function nextVersion(store: KindStore, target: WriteTarget, sent: AnyObject, previous: AnyObject): AnyObject {
  const [next, violations] = appliedTo(store, target, sent, previous);
  if (violations.length > 0) throw invalid(store.subject(nameOf(previous)), violations);
  return next;
}

function appliedTo(store: KindStore, target: WriteTarget, sent: AnyObject, previous: AnyObject): [AnyObject, FieldViolation[]] {
  if (target === 'status') {
    const next = nextStatus(store, sent, previous);
    return [next, [...validateStatusMetadata(store, sent, next, previous), ...validateStatus(store, next, previous)]];
  }
  if (target === 'object') {
    const next = nextObject(store, sent, previous);
    const metadata = validateSentMetadata(sent.metadata ?? {}, previous.metadata ?? {});
    return [next, [...metadata, ...validateObject(store, next, previous)]];
  }
  const next = target.take(cloneObject(sent), cloneObject(previous));
  store.kind.defaults(next);
  return [next, [...store.kind.validate(next), ...target.validate(next, previous)]];
}

/**
 * The status of the one, and of its metadata what clients may change, as in Kubernetes: labels, annotations, finalizers
 * and owners, of pods no owners. The spec of the other.
 */
function nextStatus(store: KindStore, sent: AnyObject, previous: AnyObject): AnyObject {
  const next = { ...cloneObject(previous), status: cloneObject(sent.status) };
  if (next.status === undefined) delete next.status;
  const { ownerReferences } = previous.metadata ?? {};
  const { ownerReferences: _, ...others } = sent.metadata ?? {};
  const metadata = !isKind(store.kind, 'Pod') ? sent.metadata : { ...others, ...(ownerReferences && { ownerReferences }) };
  next.metadata = metadataForUpdate(cloneObject(metadata ?? {}), previous.metadata ?? {}, store.subject(nameOf(previous)));
  if (isCustom(store.kind)) store.kind.defaults(next as AnyObject);
  return next as AnyObject;
}

/** The same order of steps as in create.ts, and for the same reasons. */
function nextObject(store: KindStore, sent: AnyObject, previous: AnyObject): AnyObject {
  const { kind } = store;
  const next = cloneObject(sent);
  next.metadata = metadataForUpdate(next.metadata ?? {}, previous.metadata ?? {}, store.subject(nameOf(previous)));
  if (kind.hasStatus) {
    delete next.status;
    if (previous.status !== undefined) next.status = cloneObject(previous.status);
  }
  kind.defaults(next);
  kind.lifecycle?.prepareForUpdate?.(next, previous);
  return next;
}

function validateObject({ kind }: KindStore, next: AnyObject, previous: AnyObject): FieldViolation[] {
  return [
    ...validateMetadata(kind, next.metadata),
    ...validateMetadataUpdate(next.metadata ?? {}, previous.metadata ?? {}),
    ...kind.validate(next),
    ...kind.validateUpdate(next, previous),
  ];
}

function validateStatusMetadata(
  { kind }: KindStore,
  sent: AnyObject,
  { metadata: next }: AnyObject,
  { metadata: previous }: AnyObject,
): FieldViolation[] {
  const found = validateSentMetadata(sent.metadata ?? {}, previous ?? {});
  if (equalValues(next, previous)) return found;
  return [...found, ...validateMetadata(kind, next), ...validateMetadataUpdate(next ?? {}, previous ?? {})];
}

function validateStatus({ kind }: KindStore, next: AnyObject, previous: AnyObject): FieldViolation[] {
  return [...(isCustom(kind) ? [] : validateConditions(next.status)), ...(kind.validateStatusUpdate?.(next, previous) ?? [])];
}

export function nameOf(object: AnyObject): ObjectName {
  return { namespace: object.metadata?.namespace ?? '', name: object.metadata?.name ?? '' };
}

/**
 * Replaces an object. With a resourceVersion only if that is current, without one in any case, unless the kind needs
 * one.
 */
export async function updateObject(store: KindStore, sent: AnyObject, context: WriteContext): Promise<StoreResult> {
  const at = requireName(store, sent);
  const warnings = [...(store.kind.warnings?.(sent) ?? []), ...pruneSent(store, sent, context)];
  const resourceVersion = sent.metadata?.resourceVersion;
  const compute = (previous: AnyObject): AnyObject => {
    checkNamesVersion(store, at, sent);
    return nextVersion(store, 'object', sent, previous);
  };
  return { bytes: await store.change(at, { context, verb: 'update', resourceVersion, compute }), warnings };
}

function checkNamesVersion(store: KindStore, at: ObjectName, { metadata }: AnyObject): void {
  if (store.kind.updateNeedsVersion && !metadata?.resourceVersion)
    throw invalid(store.subject(at), [required('metadata.resourceVersion', 'must be specified for an update')]);
}

/**
 * Replaces the status of an object, and its metadata as far as nextStatus says. With a resourceVersion only if that is
 * current, without one in any case, unless the kind needs one.
 */
export async function updateStatus(store: KindStore, sent: AnyObject, context: WriteContext): Promise<StoreResult> {
  const at = requireName(store, sent);
  const warnings = pruneSent(store, sent, context);
  const resourceVersion = sent.metadata?.resourceVersion;
  const compute = (previous: AnyObject): AnyObject => {
    checkNamesVersion(store, at, sent);
    return nextVersion(store, 'status', sent, previous);
  };
  return { bytes: await store.change(at, { context, verb: 'update-status', resourceVersion, compute }), warnings };
}

/** Replaces a subresource of an object. With a resourceVersion only if that is current. */
export async function updateSubresource(
  store: KindStore,
  subresource: string,
  sent: AnyObject,
  context: WriteContext,
): Promise<StoreResult> {
  const at = requireName(store, sent);
  const target = writeTargetOf(store, subresource);
  const { resourceVersion, uid } = sent.metadata ?? {};
  const compute = (previous: AnyObject): AnyObject => {
    checkUid(store.subject(at), uid, previous);
    return nextVersion(store, target, sent, previous);
  };
  return { bytes: await store.change(at, { context, verb: `update-${subresource}`, resourceVersion, compute }), warnings: [] };
}

/** A named uid means that object and no later one of the same name. Throws ABORTED. */
export function checkUid(subject: ErrorSubject, uid: string | undefined, previous: AnyObject): void {
  if (!uid || uid === previous.metadata?.uid) return;
  throw conflict(subject, `the uid is ${previous.metadata?.uid}, not ${uid}: the object was deleted and made again`);
}

export function requireName(store: KindStore, sent: AnyObject): ObjectName {
  const at = nameOf(sent);
  const violations: FieldViolation[] = [];
  if (!at.name) violations.push(required('metadata.name'));
  if (store.kind.namespaced && !at.namespace) violations.push(required('metadata.namespace'));
  if (violations.length > 0) throw invalid(store.subject(at), violations);
  return at;
}
