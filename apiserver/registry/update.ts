import { type FieldViolation, invalid } from '../../api/errors/index.ts';
import { required } from '../../api/errors/violations.ts';
import { validateConditions } from '../../api/kinds/conditions.ts';
import { validateMetadata } from '../../api/kinds/metadata.ts';
import type { AnyObject } from './any-object.ts';
import type { KindStore, ObjectName, StoreResult, WriteContext } from './kind-store.ts';
import { metadataForUpdate, validateMetadataUpdate, validateSentMetadata } from './metadata.ts';

/** Through which door a write comes: the object without its status, or the status alone. */
export type Door = 'object' | 'status';

/** The next version of an object as one door makes it. Throws INVALID_ARGUMENT with every rule that it breaks. */
export function nextVersion(store: KindStore, door: Door, sent: AnyObject, previous: AnyObject): AnyObject {
  const next = door === 'status' ? nextStatus(sent, previous) : nextObject(store, sent, previous);
  const violations =
    door === 'status'
      ? validateStatus(store, next, previous)
      : [...validateSentMetadata(sent.metadata ?? {}, previous.metadata ?? {}), ...validateObject(store, next, previous)];
  if (violations.length > 0) throw invalid(store.subject(nameOf(previous)), violations);
  return next;
}

/** The status of the one and everything else of the other. */
function nextStatus(sent: AnyObject, previous: AnyObject): AnyObject {
  const next = { ...structuredClone(previous), status: structuredClone(sent.status) };
  if (next.status === undefined) delete next.status;
  return next as AnyObject;
}

/** The same order of steps as in create.ts, and for the same reasons. */
function nextObject(store: KindStore, sent: AnyObject, previous: AnyObject): AnyObject {
  const { kind } = store;
  const next = structuredClone(sent);
  next.metadata = metadataForUpdate(next.metadata ?? {}, previous.metadata ?? {}, store.subject(nameOf(previous)));
  if (kind.hasStatus) {
    delete next.status;
    if (previous.status !== undefined) next.status = structuredClone(previous.status);
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

function validateStatus({ kind }: KindStore, next: AnyObject, previous: AnyObject): FieldViolation[] {
  return [...validateConditions(next.status), ...(kind.validateStatusUpdate?.(next, previous) ?? [])];
}

export function nameOf(object: AnyObject): ObjectName {
  return { namespace: object.metadata?.namespace ?? '', name: object.metadata?.name ?? '' };
}

/** Replaces an object. With a resourceVersion only if that is current, without one in any case. */
export async function updateObject(store: KindStore, sent: AnyObject, context: WriteContext): Promise<StoreResult> {
  const at = requireName(store, sent);
  const warnings = store.kind.warnings?.(sent) ?? [];
  const resourceVersion = sent.metadata?.resourceVersion;
  const compute = (previous: AnyObject): AnyObject => nextVersion(store, 'object', sent, previous);
  return { bytes: await store.change(at, { context, verb: 'update', resourceVersion, compute }), warnings };
}

/** Replaces the status of an object. Several components write conditions; so the version that it was based on is required. */
export async function updateStatus(store: KindStore, sent: AnyObject, context: WriteContext): Promise<StoreResult> {
  const at = requireName(store, sent);
  const resourceVersion = sent.metadata?.resourceVersion;
  if (!resourceVersion) {
    const why = 'a status is written from the version that was read; or patch the status subresource';
    throw invalid(store.subject(at), [required('metadata.resourceVersion', why)]);
  }
  const compute = (previous: AnyObject): AnyObject => nextVersion(store, 'status', sent, previous);
  return { bytes: await store.change(at, { context, verb: 'update-status', resourceVersion, compute }), warnings: [] };
}

export function requireName(store: KindStore, sent: AnyObject): ObjectName {
  const at = nameOf(sent);
  const violations: FieldViolation[] = [];
  if (!at.name) violations.push(required('metadata.name'));
  if (store.kind.namespaced && !at.namespace) violations.push(required('metadata.namespace'));
  if (violations.length > 0) throw invalid(store.subject(at), violations);
  return at;
}
