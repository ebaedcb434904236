import { fromJson, toJson } from '../../api/codec/json.ts';
import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import { badRequest, invalid } from '../../api/errors/index.ts';
import { forbidden } from '../../api/errors/violations.ts';
import { applyJsonPatch, parseJsonPatch } from '../../api/meta/json-patch.ts';
import { isJsonObject, type Json, type JsonObject, mergePatch } from '../../api/meta/merge-patch.ts';
import type { AnyObject } from './any-object.ts';
import { parseJson } from './decode.ts';
import type { KindStore, ObjectName, StoreResult, WriteContext } from './kind-store.ts';
import { checkUid, type Door, doorOf, nextVersion } from './update.ts';

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
  readonly door: Door;
  readonly metadata: JsonObject;
  apply(before: JsonObject): JsonObject;
}

/**
 * Changes an object by a patch of its JSON form (merge, strategic merge or JSON patch), read back as strictly as any other write.
 * Computed again from the newest version when somebody else was faster, unless the patch itself names a resourceVersion.
 */
export async function patchObject(store: KindStore, input: PatchInput, context: WriteContext): Promise<StoreResult> {
  const { door, metadata, apply } = readPatch(store, input);
  checkIdentity(store, input.at, metadata);
  const warnings = new Set<string>();
  const compute = (previous: AnyObject): AnyObject => {
    if (typeof metadata.uid === 'string') checkUid(store.subject(input.at), metadata.uid, previous);
    const sent = fromJson<AnyObject>(store.kind, apply(toJson(store.kind, previous)));
    if (door === 'object') for (const warning of store.kind.warnings?.(sent) ?? []) warnings.add(warning);
    return nextVersion(store, door, sent, previous);
  };
  const resourceVersion = typeof metadata.resourceVersion === 'string' ? metadata.resourceVersion : undefined;
  const verb = input.subresource === '' ? 'patch' : `patch-${input.subresource}`;
  const bytes = await store.change(input.at, { context, verb, resourceVersion, compute });
  return { bytes, warnings: [...warnings] };
}

function readPatch(store: KindStore, { type, patch: bytes, subresource }: PatchInput): ReadPatch {
  if (!Object.values<string>(TYPES).includes(type))
    throw badRequest(`cannot patch: the type "${type}" is not supported, use one of ${Object.values(TYPES).join(', ')}`);
  const door = doorOf(store, subresource);
  const patch = parseJson(bytes, 'patch') as Json;
  if (type === TYPES.json) return readJsonPatch(door, patch);
  if (!isJsonObject(patch)) throw badRequest('cannot patch: a merge patch is a JSON object');
  const metadata = isJsonObject(patch.metadata) ? patch.metadata : {};
  if (door === 'status') keepConditions(patch);
  if (type === TYPES.merge) return { door, metadata, apply: (before) => applyMerge(door, patch, before) };
  const { message } = store.kind;
  const apply = (before: JsonObject): JsonObject =>
    door === 'status'
      ? { ...before, ...strategicMerge(message, { status: before.status ?? {} }, { status: patch.status ?? {} }) }
      : strategicMerge(message, before, patch);
  return { door, metadata, apply };
}

/** What the operations say of name, namespace and uid is judged like the metadata of a merge patch. */
function readJsonPatch(door: Door, patch: Json): ReadPatch {
  const operations = parseJsonPatch(patch);
  const metadata: JsonObject = {};
  for (const operation of operations) {
    const [, field] = /^\/metadata\/(name|namespace|uid)$/.exec(operation.path) ?? [];
    if (field && operation.op !== 'test') metadata[field] = 'value' in operation ? operation.value : '';
  }
  return {
    door,
    metadata,
    apply(before) {
      const after = applyJsonPatch(before, operations);
      if (!isJsonObject(after)) throw badRequest('cannot patch: the result is no object');
      return door === 'status' ? { ...before, status: after.status ?? {} } : after;
    },
  };
}

function checkIdentity(store: KindStore, at: ObjectName, metadata: JsonObject): void {
  const found = (['name', 'namespace'] as const).filter(
    (field) => metadata[field] !== undefined && metadata[field] !== at[field],
  );
  if (found.length === 0) return;
  throw invalid(
    store.subject(at),
    found.map((field) => forbidden(`metadata.${field}`, 'cannot be changed')),
  );
}

/** Several components write conditions, each its own: nobody takes those of all away at once. */
function keepConditions({ status }: JsonObject): void {
  if (!isJsonObject(status) || status.conditions !== null) return;
  const why = 'cannot be removed as a whole, as several components write them: name the types, or use a JSON patch';
  throw badRequest(`cannot patch: status.conditions ${why}`, [forbidden('status.conditions', why)]);
}

/** A status patch touches nothing but the status, and of its conditions only the types that it names; `$patch: delete` takes one away. */
function applyMerge(door: Door, patch: JsonObject, before: JsonObject): JsonObject {
  if (door !== 'status') return mergePatch(before, patch) as JsonObject;
  const status = mergePatch(before.status, patch.status ?? {}) as JsonObject;
  const conditions = mergeConditions(before.status, patch.status);
  if (conditions) status.conditions = conditions;
  return { ...before, status };
}

function mergeConditions(before: Json | undefined, patch: Json | undefined): Json[] | undefined {
  const changed = isJsonObject(patch) ? patch.conditions : undefined;
  if (!Array.isArray(changed)) return undefined;
  const present = isJsonObject(before) && Array.isArray(before.conditions) ? before.conditions : [];
  const merged = [...present];
  for (const condition of changed) {
    const at = merged.findIndex((other) => typeOf(other) !== undefined && typeOf(other) === typeOf(condition));
    if (isJsonObject(condition) && condition.$patch === 'delete') {
      if (at >= 0) merged.splice(at, 1);
    } else if (at < 0) merged.push(condition);
    else merged[at] = mergePatch(merged[at], condition);
  }
  return merged;
}

function typeOf(condition: Json | undefined): Json | undefined {
  return isJsonObject(condition) ? condition.type : undefined;
}
