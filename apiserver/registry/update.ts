import { type ErrorSubject, type FieldViolation, invalid, otherUid } from '../../api/errors/index.ts';
import { invalidValue, required } from '../../api/errors/violations.ts';
import type { AnyObject } from './any-object.ts';
import type { KindStore, ObjectName } from './kind-store.ts';
import { nameOf, nextVersion, writeTargetOf } from './next-version.ts';
import { pruneSent } from './prune.ts';
import { namedVersion } from './resource-version.ts';
import type { StoreResult } from './store-values.ts';
import type { WriteContext } from './write-context.ts';

/**
 * Replaces an object. With a resourceVersion only if that is current, without one in any case, unless the kind needs
 * one.
 */
export async function updateObject(store: KindStore, sent: AnyObject, context: WriteContext): Promise<StoreResult> {
  const at = requireName(store, sent);
  const warnings = [...(store.kind.warnings?.(sent) ?? []), ...pruneSent(store, sent, context)];
  const resourceVersion = namedVersion(store.subject(at), sent);
  const compute = (previous: AnyObject): AnyObject => {
    checkNamesVersion(store, at, resourceVersion);
    return nextVersion(store, 'object', sent, previous);
  };
  return { bytes: await store.change(at, { context, verb: 'update', resourceVersion, compute }), warnings };
}

function checkNamesVersion(store: KindStore, at: ObjectName, resourceVersion: string | undefined): void {
  if (!store.kind.updateNeedsVersion || resourceVersion !== undefined) return;
  const missing = invalidValue('metadata.resourceVersion', '', 'must be specified for an update');
  // Kubernetes' word for no version.
  throw invalid(store.subject(at), [{ ...missing, value: '0x0' }]);
}

/**
 * Replaces the status of an object, and its metadata as far as nextStatus says. With a resourceVersion only if that is
 * current, without one in any case, unless the kind needs one.
 */
export async function updateStatus(store: KindStore, sent: AnyObject, context: WriteContext): Promise<StoreResult> {
  const at = requireName(store, sent);
  const warnings = pruneSent(store, sent, context);
  const resourceVersion = namedVersion(store.subject(at), sent);
  const compute = (previous: AnyObject): AnyObject => {
    checkNamesVersion(store, at, resourceVersion);
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
  const { uid } = sent.metadata ?? {};
  const resourceVersion = namedVersion(store.subject(at), sent);
  const compute = (previous: AnyObject): AnyObject => {
    checkUid(store.subject(at), uid, previous);
    return nextVersion(store, target, sent, previous);
  };
  return { bytes: await store.change(at, { context, verb: `update-${subresource}`, resourceVersion, compute }), warnings: [] };
}

/** A named uid means that object and no later one of the same name. Throws ABORTED. */
export function checkUid(subject: ErrorSubject, uid: string | undefined, previous: AnyObject): void {
  if (!uid || uid === previous.metadata?.uid) return;
  throw otherUid(subject, previous.metadata?.uid, uid);
}

export function requireName(store: KindStore, sent: AnyObject): ObjectName {
  const at = nameOf(sent);
  const violations: FieldViolation[] = [];
  if (!at.name) violations.push(required('metadata.name'));
  if (store.kind.namespaced && !at.namespace) violations.push(required('metadata.namespace'));
  if (violations.length > 0) throw invalid(store.subject(at), violations);
  return at;
}
