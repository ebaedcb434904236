import { isDeepStrictEqual } from 'node:util';
import { messageType } from '../../api/codec/descriptors.ts';
import { type ErrorSubject, type FieldViolation, otherUid } from '../../api/errors/index.ts';
import { forbidden } from '../../api/errors/violations.ts';
import type { NamespaceSpec, ObjectMeta } from '../../api/generated/types.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { isKind } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { validateMetadata } from '../../api/kinds/metadata.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { generatedName } from '../../api/meta/names.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import type { AnyObject } from './any-object.ts';
import { clearsManagers, sentManagers, validateManagers } from './apply/managed-fields.ts';

export interface Origin {
  readonly now: Date;
  readonly random: () => number;
  readonly uid: () => string;
}

/** Metadata that only the server writes, for a new object. A client's own values of these are dropped. */
export function metadataForCreate(sent: ObjectMeta, hasGeneration: boolean, origin: Origin): ObjectMeta {
  const { name, generateName, namespace, labels, annotations, ownerReferences, finalizers, resourceVersion } = sent;
  const chosen = name || (generateName ? generatedName(generateName, origin.random) : undefined);
  return withoutAbsent({
    name: chosen,
    generateName,
    namespace: namespace || undefined,
    uid: origin.uid(),
    resourceVersion: resourceVersion === '0' ? undefined : resourceVersion || undefined,
    generation: hasGeneration ? 1 : undefined,
    creationTimestamp: secondsTimestamp(origin.now),
    labels,
    annotations,
    ownerReferences,
    finalizers,
  });
}

/**
 * Metadata of an update: what clients may change comes from `sent`, everything else stays. Throws ABORTED for another
 * object's uid.
 */
export function metadataForUpdate(sent: ObjectMeta, previous: ObjectMeta, subject: ErrorSubject): ObjectMeta {
  if (sent.uid && sent.uid !== previous.uid) {
    throw otherUid(subject, previous.uid, sent.uid);
  }
  const { labels, annotations, ownerReferences, finalizers } = sent;
  const managedFields = clearsManagers(sent) ? sent.managedFields : sentManagers(sent, previous);
  return withoutAbsent({ ...previous, labels, annotations, ownerReferences, finalizers, managedFields });
}

function withoutAbsent(metadata: { [K in keyof ObjectMeta]: ObjectMeta[K] | undefined }): ObjectMeta {
  const present: Record<string, unknown> = {};
  for (const name in metadata) {
    const value = metadata[name as keyof ObjectMeta];
    if (value !== undefined) present[name] = value;
  }
  return present as ObjectMeta;
}

/** Every rule that the metadata of a new object breaks. */
export function validateNewMetadata(kind: Kind, metadata: ObjectMeta): FieldViolation[] {
  const found = validateMetadata(kind, metadata);
  if (metadata.resourceVersion)
    found.push(forbidden('metadata.resourceVersion', 'resourceVersion should not be set on objects to be created'));
  return found;
}

/** Checks the metadata that only a delete sets: clients may leave it out, and must not change it. */
export function validateSentMetadata(sent: ObjectMeta, previous: ObjectMeta): FieldViolation[] {
  const fields = ['deletionTimestamp', 'deletionGracePeriodSeconds'] as const;
  const changed = fields.filter((field) => sent[field] !== undefined && !equalValues(sent[field], previous[field]));
  return [
    ...changed.map((field) => forbidden(`metadata.${field}`, 'cannot be changed: delete the object instead')),
    ...validateManagers(sent, previous),
  ];
}

/** Rules of a change: an object that is being deleted takes no new finalizers. */
export function validateMetadataUpdate(next: ObjectMeta, previous: ObjectMeta): FieldViolation[] {
  if (!previous.deletionTimestamp) return [];
  const old = new Set(previous.finalizers ?? []);
  const added = (next.finalizers ?? []).filter((finalizer) => !old.has(finalizer));
  if (added.length === 0) return [];
  // As Go prints the set of them.
  const found = `[]string{${[...new Set(added)]
    .sort()
    .map((each) => JSON.stringify(each))
    .join(', ')}}`;
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${found}`;
  return [forbidden('metadata.finalizers', why)];
}

/** Whether nothing keeps a deleted object any longer. A namespace is kept by its spec as well, until it is empty. */
export function isFinished(kind: Kind, object: AnyObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata ?? {};
  const isDue = deletionTimestamp !== undefined && !deletionGracePeriodSeconds && !finalizers?.length;
  return isDue && !hasSpecFinalizers(kind, object);
}

/** Only Namespace has finalizers in its spec: what kinds of users' own have there means something else. */
export function hasSpecFinalizers(kind: Kind, object: AnyObject): boolean {
  return isKind(kind, 'Namespace') && ((object.spec as NamespaceSpec | undefined)?.finalizers?.length ?? 0) > 0;
}

/**
 * Whether objects of the kind say what is wanted. Reads the kind's descriptors: those of kinds that are never written
 * stay unread.
 */
export function hasGenerations(kind: Kind): boolean {
  if (kind.generation !== undefined) return kind.generation !== 'nothing';
  return isCustom(kind) || messageType(kind.message).fields.spec !== undefined;
}

/** Whether new objects of the kind have a generation. */
export const beginsGenerations = (kind: Kind): boolean => kind.generation !== 'spec changes' && hasGenerations(kind);

/**
 * Whether a change is one of what is wanted, which the generation counts: as the kind says, and of kinds that users
 * added of everything but the metadata and a status that is a subresource.
 */
export function isAnotherWish(kind: Kind, next: AnyObject, previous: AnyObject): boolean {
  if (!hasGenerations(kind)) return false;
  const isOtherSpec = () => !isDeepStrictEqual(next.spec, previous.spec);
  if (kind.generation === 'spec and annotations')
    return isOtherSpec() || !equalValues(next.metadata?.annotations ?? {}, previous.metadata?.annotations ?? {});
  if (!isCustom(kind) && kind.generation !== 'content') return isOtherSpec();
  const { status, ...others } = { ...next, metadata: undefined };
  const { status: statusBefore, ...othersBefore } = { ...previous, metadata: undefined };
  return !isDeepStrictEqual(others, othersBefore) || (!kind.hasStatus && !isDeepStrictEqual(status, statusBefore));
}
