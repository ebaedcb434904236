import { badRequest, permissionDenied, unmetPrecondition } from '../../api/errors/index.ts';
import type { DeleteOptions, ObjectMeta } from '../../api/generated/types.ts';
import { isKind } from '../../api/kinds/index.ts';
import { isSystemPriorityClass } from '../../api/kinds/priority-class/system.ts';
import { longestSeconds, secondsTimestamp, toMillis } from '../../api/meta/time.ts';
import { finalizers, namespaces } from '../../api/meta/well-known.ts';
import type { AnyObject } from './any-object.ts';
import { cloneObject } from './clone-object.ts';
import type { KindStore, ObjectName } from './kind-store.ts';
import { hasGenerations, hasSpecFinalizers } from './metadata.ts';
import type { StoreResult } from './store-values.ts';
import type { Current, WriteContext } from './write-context.ts';

/** What becomes of the dependents, and the finalizer that keeps the object until that has happened. */
const PROPAGATIONS: Readonly<Record<string, string | undefined>> = {
  Background: undefined,
  Foreground: finalizers.foregroundDeletion,
  Orphan: finalizers.orphan,
};
const PROTECTED_NAMESPACES: readonly string[] = Object.values(namespaces);

/**
 * Deletes an object: at once when nothing keeps it; otherwise its deletionTimestamp says that it shall go, and it goes
 * when its grace period is over (the agent deletes it again with none) and its finalizers are gone. A later delete may
 * only shorten the grace period, and only when it names one; the shorter one counts from the first delete as well.
 */
export async function deleteObject(
  store: KindStore,
  at: ObjectName,
  options: DeleteOptions,
  context: WriteContext,
): Promise<StoreResult> {
  checkDelete(store, at, options);
  let isRemoved = false;
  const compute = (previous: AnyObject, { revision }: Current): AnyObject | 'remove' => {
    checkPreconditions(store, at, options, { previous, revision });
    const next = decideDelete(store, options, previous);
    isRemoved = next === 'remove';
    return next;
  };
  const bytes = await store.change(at, { context, verb: 'delete', compute });
  return { bytes, warnings: [], isRemoved };
}

export function checkDelete(store: KindStore, at: ObjectName, options: DeleteOptions): void {
  const { propagationPolicy, gracePeriodSeconds, orphanDependents } = options;
  const known = Object.keys(PROPAGATIONS);
  if (propagationPolicy && !known.includes(propagationPolicy)) {
    throw badRequest(`cannot delete: the propagation policy "${propagationPolicy}" is none of ${known.join(', ')}`);
  }
  if (propagationPolicy && orphanDependents !== undefined)
    throw badRequest('cannot delete: give propagationPolicy or its older form orphanDependents, not both');
  if (gracePeriodSeconds !== undefined && gracePeriodSeconds > longestSeconds)
    throw badRequest(`cannot delete: gracePeriodSeconds must be at most ${longestSeconds}`);
  if (isKind(store.kind, 'Namespace') && PROTECTED_NAMESPACES.includes(at.name)) {
    throw permissionDenied(`cannot delete namespace "${at.name}": Berth itself needs it`);
  }
  if (isKind(store.kind, 'PriorityClass') && isSystemPriorityClass(at.name)) {
    throw permissionDenied(`cannot delete priorityclass "${at.name}": it is one of the system's own`);
  }
}

export function checkPreconditions(
  store: KindStore,
  at: ObjectName,
  { preconditions }: DeleteOptions,
  { previous, revision }: { readonly previous: AnyObject; readonly revision: number },
): void {
  const found = { uid: previous.metadata?.uid ?? '', resourceVersion: String(revision) };
  for (const field of ['uid', 'resourceVersion'] as const) {
    const wanted = preconditions?.[field];
    if (wanted && wanted !== found[field]) throw unmetPrecondition(store.subject(at), { field, wanted, found: found[field] });
  }
}

export function decideDelete(store: KindStore, options: DeleteOptions, previous: AnyObject): AnyObject | 'remove' {
  const metadata = previous.metadata ?? {};
  const pending = pendingDeletion(metadata);
  // As in Kubernetes a negative time is the shortest one.
  const asked = options.gracePeriodSeconds !== undefined && options.gracePeriodSeconds < 0 ? 1 : options.gracePeriodSeconds;
  const grace = pending
    ? Math.min(pending.graceSeconds, asked ?? pending.graceSeconds)
    : (store.kind.lifecycle?.gracePeriodSeconds?.(cloneObject(previous), asked) ?? 0);
  const kept = keepersOf(store.kind.unowned ? { propagationPolicy: 'Background' } : options, metadata.finalizers ?? []);
  if (grace === 0 && kept.length === 0 && !hasSpecFinalizers(store.kind, previous)) return 'remove';
  const next: AnyObject = cloneObject(previous);
  next.metadata = { ...next.metadata, finalizers: kept };
  if (kept.length === 0) delete next.metadata.finalizers;
  if (pending && grace === pending.graceSeconds) return next;
  const requestedAtMs = pending?.requestedAtMs ?? store.origin().now.getTime();
  Object.assign(next.metadata, {
    deletionTimestamp: secondsTimestamp(new Date(requestedAtMs + grace * 1000)),
    deletionGracePeriodSeconds: grace,
    ...(hasGenerations(store.kind) && metadata.generation ? { generation: metadata.generation + 1 } : {}),
  });
  if (isKind(store.kind, 'Namespace')) next.status = Object.assign({}, next.status, { phase: 'Terminating' });
  return next;
}

/**
 * An earlier delete that the object still waits for: deletionTimestamp is when it was requested, plus the grace period.
 */
function pendingDeletion({ deletionTimestamp, deletionGracePeriodSeconds: graceSeconds = 0 }: ObjectMeta) {
  return deletionTimestamp && { graceSeconds, requestedAtMs: toMillis(deletionTimestamp) - graceSeconds * 1000 };
}

/** The finalizers with which the object waits. Who says nothing of dependents leaves what was said before. */
function keepersOf({ propagationPolicy, orphanDependents }: DeleteOptions, present: readonly string[]): string[] {
  const policy = propagationPolicy || (orphanDependents === undefined ? undefined : orphanDependents ? 'Orphan' : 'Background');
  if (policy === undefined) return [...present];
  const keeper = PROPAGATIONS[policy];
  const others = present.filter((each) => !Object.values(PROPAGATIONS).includes(each));
  return keeper === undefined ? others : [...others, keeper];
}
