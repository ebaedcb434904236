import { toJson } from '../../api/codec/json.ts';
import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import { ApiError, badRequest, type FieldViolation, invalid, shortened } from '../../api/errors/index.ts';
import { forbidden } from '../../api/errors/violations.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { applyJsonPatch, parseJsonPatch } from '../../api/meta/json-patch.ts';
import { isJsonObject, type Json, type JsonObject, mergePatch } from '../../api/meta/merge-patch.ts';
import type { AnyObject } from './any-object.ts';
import { APPLY_TYPES } from './apply/apply-config.ts';
import { duplicatesIn, objectFromJson, parseJson } from './decode.ts';
import { checkJsonElements, mostElements } from './kind-bounds.ts';
import type { KindStore, ObjectName } from './kind-store.ts';
import { applyMergingConditions } from './merge-conditions.ts';
import { nextVersion, type WriteTarget, writeTargetOf } from './next-version.ts';
import { otherPlaceText } from './other-place.ts';
import { isLenient, pruneSent } from './prune.ts';
import { namedVersion, patchedVersion } from './resource-version.ts';
import type { StoreResult } from './store-values.ts';
import { asServed, asStored, servedKind } from './store-version.ts';
import { checkUid } from './update.ts';
import type { Current, WriteContext } from './write-context.ts';

const TYPES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

export interface PatchInput {
  readonly at: ObjectName;
  readonly type: string;
  readonly patch: Uint8Array;
  readonly subresource: string;
}

/** A patch that was read: how it changes an object's JSON form, and what it says of the metadata. */
interface ReadPatch {
  readonly metadata: JsonObject;
  /** What its text has twice, where the writer wants to hear of it. */
  readonly twice: readonly FieldViolation[];
  apply(before: JsonObject): JsonObject;
}

/**
 * Changes an object by a patch of its JSON form (merge, strategic merge or JSON patch), read back as strictly as an
 * update. It is applied to the object with its resourceVersion, so that a JSON patch can test it; a result that
 * names another version is refused with ABORTED. Computed again from the newest version when another write was faster,
 * unless the patch itself names a resourceVersion.
 */
export async function patchObject(store: KindStore, input: PatchInput, context: WriteContext): Promise<StoreResult> {
  const target = writeTargetOf(store, input.subresource);
  if (isCustom(store.kind) && input.type === TYPES.strategic) throw noStrategicPatch(store);
  const served = servedKind(store);
  const { metadata, twice, apply } = readPatch({ message: served.message, target }, input, context);
  checkIdentity(store, input.at, metadata);
  const warnings = new Set<string>();
  const compute = (previous: AnyObject, current: Current): AnyObject => {
    if (typeof metadata.uid === 'string') checkUid(store.subject(input.at), metadata.uid, previous);
    const patched = apply(versionedJson(store, seenBy({ store, target, type: input.type, metadata }, previous), current));
    checkJsonElements(served, patched, store.subject(input.at), mostElements(store.kind, current.bytes));
    const leftOut = isLenient(context) ? [] : undefined;
    const reading = { fieldValidation: context.fieldValidation, leftOut };
    const sent = asStored(
      store,
      readPatched(input, () => objectFromJson<AnyObject>(served, patched, reading, twice)),
    );
    store.checkVersion(input.at, current, namedVersion(store.subject(input.at), sent));
    const told = target === 'object' ? (store.kind.warnings?.(sent) ?? []) : [];
    const pruned = readPatched(input, () => pruneSent(store, sent, { ...context, leftOut }));
    for (const warning of [...told, ...pruned]) warnings.add(warning);
    return nextVersion(store, target, sent, previous);
  };
  const resourceVersion = patchedVersion(store.subject(input.at), metadata);
  const verb = input.subresource === '' ? 'patch' : `patch-${input.subresource}`;
  const bytes = await store.change(input.at, { context, verb, resourceVersion, compute });
  return { bytes, warnings: [...warnings] };
}

/** Runs a step that reads what a patch made of an object: its error says that the patch is wrong. */
export function readPatched<T>({ patch }: PatchInput, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ApiError) || error.parts?.of !== 'decoding') throw error;
    const { code, reason, message, violations, subject, parts } = error;
    const text = shortened(Buffer.from(patch).toString('utf8'), MOST_SHOWN);
    throw new ApiError(code, reason, message, { violations, subject, parts: { ...parts, of: 'patching', patch: text } });
  }
}

/** In characters: of a patch, in the error that it is wrong. */
const MOST_SHOWN = 1024;

/** As Kubernetes refuses it: the schema says nothing of how lists are merged by it. */
function noStrategicPatch({ kind }: KindStore): Error {
  return badRequest(
    `cannot patch: ${kind.plural} take no strategic merge patch, as all kinds of a CustomResourceDefinition: use ${TYPES.merge} or ${TYPES.json}`,
  );
}

interface Seeing {
  readonly store: KindStore;
  readonly target: WriteTarget;
  readonly type: string;
  /** What the patch says of it. */
  readonly metadata: JsonObject;
}

/**
 * The part of an object that a patch can change: what becomes JSON and is read back costs most of a patch. Of a status
 * the spec is no part, and managed fields that a patch leaves out stay as they are. A JSON patch may test everything.
 */
function seenBy({ store, target, type, metadata: patch }: Seeing, object: AnyObject): AnyObject {
  if (type === TYPES.json) return object;
  const changesManagers = Object.keys(patch).some((name) => name === 'managedFields' || name.startsWith('$'));
  const { managedFields, ...others } = object.metadata ?? {};
  const metadata = changesManagers && managedFields ? { ...others, managedFields } : others;
  if (target !== 'status' || isCustom(store.kind) || store.served?.conversion) return { ...object, metadata };
  const { status } = object;
  return { metadata, ...(status !== undefined && { status }) };
}

function versionedJson(store: KindStore, previous: AnyObject, { revision }: Current): JsonObject {
  const resourceVersion = String(revision);
  const current = { ...previous, metadata: { ...previous.metadata, resourceVersion } };
  return toJson(servedKind(store), asServed(store, current));
}

/** Reads a patch of a message, or of its status. Throws INVALID_ARGUMENT. */
export function readPatch(
  { message, target }: { readonly message: string; readonly target: WriteTarget },
  { type, patch: bytes }: PatchInput,
  { mergesConditions, fieldValidation }: WriteContext,
): ReadPatch {
  if (!Object.values<string>(TYPES).includes(type))
    throw badRequest(
      `cannot patch: the type "${type}" is not supported, use one of ${[...Object.values(TYPES), ...APPLY_TYPES].join(', ')}`,
    );
  const patch = parseJson(bytes, 'patch') as Json;
  const twice = duplicatesIn(bytes, patch, { fieldValidation });
  if (type === TYPES.json) return { ...readJsonPatch(target, patch), twice };
  if (!isJsonObject(patch)) throw badRequest('cannot patch: a merge patch is a JSON object');
  const metadata = isJsonObject(patch.metadata) ? patch.metadata : {};
  const changes = target === 'status' ? ofStatus(patch) : patch;
  if (type === TYPES.strategic) return { metadata, twice, apply: (before) => strategicMerge(message, before, changes) };
  if (target === 'status' && mergesConditions)
    return { metadata, twice, apply: (before) => applyMergingConditions(before, changes) };
  return { metadata, twice, apply: (before) => mergePatch(before, changes) as JsonObject };
}

/** What the operations say of name, namespace and uid is judged like the metadata of a merge patch. */
function readJsonPatch(target: WriteTarget, patch: Json): Omit<ReadPatch, 'twice'> {
  const operations = parseJsonPatch(patch);
  const metadata: JsonObject = {};
  for (const operation of operations) {
    const [, field] = /^\/metadata\/(name|namespace|uid)$/.exec(operation.path) ?? [];
    if (field && operation.op !== 'test') metadata[field] = 'value' in operation ? operation.value : '';
  }
  return {
    metadata,
    apply(before) {
      const after = applyJsonPatch(before, operations);
      if (!isJsonObject(after)) throw badRequest('cannot patch: the result is no object');
      return target === 'status' ? { ...before, ...ofStatus(after) } : after;
    },
  };
}

/** Throws INVALID_ARGUMENT for a patch that names another object. */
export function checkIdentity(store: KindStore, at: ObjectName, metadata: JsonObject): void {
  const found = (['name', 'namespace'] as const).filter(
    (field) => metadata[field] !== undefined && metadata[field] !== at[field],
  );
  const [first] = found;
  if (first === undefined) return;
  const message = otherPlaceText(first, String(metadata[first] ?? ''), at[first]);
  throw invalid(
    store.subject(at),
    found.map((field) => forbidden(`metadata.${field}`, 'cannot be changed')),
    { of: 'text', message, reason: 'BadRequest' },
  );
}

/** What a write to the status takes. */
function ofStatus({ metadata, status }: JsonObject): JsonObject {
  return { ...(metadata !== undefined && { metadata }), ...(status !== undefined && { status }) };
}
