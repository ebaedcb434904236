import type { LabelSelector, ObjectMeta, Pod } from '../../api/generated/types.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import { objectKey } from '../../api/meta/key.ts';
import { compileLabelSelector, type LabelMatcher } from '../../api/meta/labels.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import type { Informer, Lister } from '../../client/index.ts';
import { changesOf, type Source } from '../controller.ts';

interface Held {
  metadata?: ObjectMeta;
}

/**
 * How objects are found by a uid that they name: within their namespace. Users of other namespaces may know the uid,
 * and write it into objects of theirs.
 */
export const ownerKey = (namespace = '', uid = ''): string => `${namespace}/${uid}`;

/** Objects by namespace and uid of their controller, and those without one by their namespace. */
export const ownedIndexers = {
  controllerUid(object: Held): readonly string[] {
    const uid = controllerOf(object)?.uid;
    return uid === undefined ? [] : [ownerKey(object.metadata?.namespace, uid)];
  },
  orphanNamespace: (object: Held): readonly string[] => (controllerOf(object) ? [] : [object.metadata?.namespace ?? '']),
};
export const namespaceIndexers = { namespace: ({ metadata }: Held): readonly string[] => [metadata?.namespace ?? ''] };

/** What an owner controls. */
export function controlledBy<T extends Held>(lister: Pick<Lister<T>, 'byIndex'>, { metadata }: Held): T[] {
  return lister.byIndex('controllerUid', ownerKey(metadata?.namespace, metadata?.uid));
}

/** What an owner may claim: what it controls, and what nothing controls in its namespace. */
export function* candidatesOf<T extends Held>(lister: Pick<Lister<T>, 'byIndex'>, owner: Held): Generator<T> {
  yield* controlledBy(lister, owner);
  yield* lister.byIndex('orphanNamespace', owner.metadata?.namespace ?? '');
}

/** A kind that owns objects by a selector. */
export interface Owning<O extends Held> {
  readonly kind: { readonly apiVersion: string; readonly kind: string };
  /** With `namespaceIndexers`. */
  readonly lister: Pick<Lister<O>, 'byIndex' | 'get'>;
  selectorOf(owner: O): LabelSelector | undefined;
  /** Whether an object that the selector matches may be the owner's; absent: all may. */
  mayOwn?(owner: O, object: Held): boolean;
}

/** The keys of the owners on which an object bears: of its controller, or, without one, of all that match it. */
export function ownersOf<O extends Held>({ kind, lister, selectorOf, mayOwn }: Owning<O>, object: Held): string[] {
  const { namespace = '', labels, deletionTimestamp } = object.metadata ?? {};
  const controller = controllerOf(object);
  if (controller) {
    const isOurs = controller.kind === kind.kind && groupOf(controller.apiVersion ?? '') === groupOf(kind.apiVersion);
    return isOurs ? [`${namespace}/${controller.name}`] : [];
  }
  if (deletionTimestamp) return [];
  return lister
    .byIndex('namespace', namespace)
    .filter((owner) => matcherOf(selectorOf(owner))?.matches(labels) && (mayOwn?.(owner, object) ?? true))
    .map(objectKey);
}

const matchers = new WeakMap<LabelSelector, LabelMatcher>();

/** Each pod without a controller is compared with all owners of its namespace: their selectors are compiled once. */
function matcherOf(selector: LabelSelector | undefined): LabelMatcher | undefined {
  const known = selector && matchers.get(selector);
  if (known || !selector) return known;
  const matcher = compileLabelSelector(selector);
  if (matcher) matchers.set(selector, matcher);
  return matcher;
}

/** Wakes the owners of pods. Of updates only those that change what owners look at. */
export function podChanges<O extends Held>(pods: Informer<Pod>, owning: Owning<O>): Source {
  return changesOf(pods, (pod) => ownersOf(owning, pod), { matters: isNewsToOwners });
}

/** Whether an owner would decide otherwise on the next version of a pod than on the one before. */
export const isNewsToOwners = rememberLast((next: Pod, old: Pod) => facts(next) !== facts(old));

/** Every controller of pods is told of an update before the next one comes, and asks the same: it is answered once. */
function rememberLast<T>(compare: (next: T, old: T) => boolean): (next: T, old: T) => boolean {
  let last: { readonly next: T; readonly old: T; readonly answer: boolean } | undefined;
  return (next, old) => {
    if (last?.next !== next || last.old !== old) last = { next, old, answer: compare(next, old) };
    return last.answer;
  };
}

function facts({ metadata, status }: Pod): string {
  const { uid, labels, ownerReferences, deletionTimestamp, finalizers, annotations } = metadata ?? {};
  const conditions = status?.conditions?.map(({ type, status: value, reason }) => [type, value, reason]);
  return JSON.stringify([
    [uid, labels, ownerReferences, finalizers, annotations, deletionTimestamp !== undefined],
    [status?.phase, conditions, status?.containerStatuses, status?.initContainerStatuses],
  ]);
}
