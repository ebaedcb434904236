import { badRequest, type ErrorSubject, type FieldViolation, invalid } from '../../api/errors/index.ts';
import type { ObjectMeta } from '../../api/generated/types.ts';
import { validateConditions } from '../../api/kinds/conditions.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { isKind } from '../../api/kinds/index.ts';
import type { Kind, Subresource } from '../../api/kinds/kind.ts';
import { validateMetadata } from '../../api/kinds/metadata.ts';
import { equalValues } from '../../api/meta/equal.ts';
import type { AnyObject } from './any-object.ts';
import { withKnownManagers } from './apply/known-managers.ts';
import { cloneObject } from './clone-object.ts';
import { metadataForUpdate, validateMetadataUpdate, validateSentMetadata } from './metadata.ts';
import type { ObjectName } from './store-values.ts';

/** What the rules of a version need to know of its store. */
export interface KindRules {
  readonly kind: Kind;
  subject(at: ObjectName): ErrorSubject;
}

/** What a write replaces: the object without its status, the status alone, or another part of the spec by itself. */
export type WriteTarget = 'object' | 'status' | Subresource<AnyObject>;

/** The target of a write to a subresource. Throws INVALID_ARGUMENT for one that the kind does not have. */
export function writeTargetOf({ kind }: KindRules, subresource: string): WriteTarget {
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
export function nextVersion(store: KindRules, target: WriteTarget, sent: AnyObject, previous: AnyObject): AnyObject {
  const [next, violations] = appliedTo(store, target, sent, previous);
  if (violations.length > 0) throw invalid(store.subject(nameOf(previous)), violations);
  return next;
}

function appliedTo(
  store: KindRules,
  target: WriteTarget,
  written: AnyObject,
  previous: AnyObject,
): [AnyObject, FieldViolation[]] {
  const sent = withKnownManagers(store.kind, written, previous);
  if (target === 'status') {
    const next = nextStatus(store, sent, previous);
    return [next, [...validatePartMetadata(store, sent, next, previous), ...validateStatus(store, next, previous)]];
  }
  if (target === 'object') {
    const next = nextObject(store, sent, previous);
    const metadata = validateSentMetadata(sent.metadata ?? {}, previous.metadata ?? {});
    return [next, [...metadata, ...validateObject(store, next, previous)]];
  }
  const next = target.take(cloneObject(sent), cloneObject(previous));
  if (target.takesMetadata) next.metadata = metadataOf(store, cloneObject(sent.metadata), previous);
  store.kind.defaults(next);
  const metadata = target.takesMetadata ? validatePartMetadata(store, sent, next, previous) : [];
  return [next, [...metadata, ...store.kind.validate(next), ...target.validate(next, previous)]];
}

/**
 * The status of the one, and of its metadata what clients may change, as in Kubernetes: labels, annotations, finalizers
 * and owners, of pods no owners. The spec of the other: the very same value, which so is not compared. Only defaults of
 * custom kinds could change it.
 */
function nextStatus(store: KindRules, sent: AnyObject, previous: AnyObject): AnyObject {
  const next = { ...(isCustom(store.kind) ? cloneObject(previous) : previous), status: cloneObject(sent.status) };
  if (next.status === undefined) delete next.status;
  const { ownerReferences } = previous.metadata ?? {};
  const { ownerReferences: _, ...others } = sent.metadata ?? {};
  const metadata = !isKind(store.kind, 'Pod') ? sent.metadata : { ...others, ...(ownerReferences && { ownerReferences }) };
  next.metadata = metadataOf(store, cloneObject(metadata), previous);
  if (isCustom(store.kind)) store.kind.defaults(next as AnyObject);
  store.kind.lifecycle?.prepareForStatusUpdate?.(next as AnyObject, previous);
  return next as AnyObject;
}

const metadataOf = (store: KindRules, sent: AnyObject['metadata'], previous: AnyObject): ObjectMeta =>
  metadataForUpdate(sent ?? {}, previous.metadata ?? {}, store.subject(nameOf(previous)));

/** The same order of steps as in create.ts, and for the same reasons. */
function nextObject(store: KindRules, sent: AnyObject, previous: AnyObject): AnyObject {
  const { kind } = store;
  const next = cloneObject(sent);
  next.metadata = metadataOf(store, next.metadata, previous);
  if (kind.hasStatus) {
    delete next.status;
    if (previous.status !== undefined) next.status = cloneObject(previous.status);
  }
  kind.defaults(next);
  kind.lifecycle?.prepareForUpdate?.(next, previous);
  return next;
}

function validateObject({ kind }: KindRules, next: AnyObject, previous: AnyObject): FieldViolation[] {
  return [
    ...validateMetadata(kind, next.metadata),
    ...validateMetadataUpdate(next.metadata ?? {}, previous.metadata ?? {}),
    ...kind.validate(next),
    ...kind.validateUpdate(next, previous),
  ];
}

function validatePartMetadata(
  { kind }: KindRules,
  sent: AnyObject,
  { metadata: next }: AnyObject,
  { metadata: previous }: AnyObject,
): FieldViolation[] {
  const found = validateSentMetadata(sent.metadata ?? {}, previous ?? {});
  if (equalValues(next, previous)) return found;
  return [...found, ...validateMetadata(kind, next), ...validateMetadataUpdate(next ?? {}, previous ?? {})];
}

function validateStatus({ kind }: KindRules, next: AnyObject, previous: AnyObject): FieldViolation[] {
  return [
    ...(isCustom(kind) ? [] : validateConditions(next.status, kind.conditionsNeed)),
    ...(kind.validateStatusUpdate?.(next, previous) ?? []),
  ];
}

export function nameOf(object: AnyObject): ObjectName {
  return { namespace: object.metadata?.namespace ?? '', name: object.metadata?.name ?? '' };
}
