import { fromJson, toJson } from '../../api/codec/json.ts';
import { badRequest, conflict, invalid } from '../../api/errors/index.ts';
import { forbidden } from '../../api/errors/violations.ts';
import { isJsonObject, type Json, type JsonObject, mergePatch } from '../../api/meta/merge-patch.ts';
import type { AnyObject } from './any-object.ts';
import { parseJson } from './decode.ts';
import type { KindStore, ObjectName, StoreResult, WriteContext } from './kind-store.ts';
import { type Door, nextVersion } from './update.ts';

const MERGE_PATCH = 'application/merge-patch+json';

export interface PatchInput {
  readonly at: ObjectName;
  readonly type: string;
  readonly patch: Uint8Array;
  readonly subresource: string;
}

/**
 * Changes an object by a JSON merge patch of its JSON form, read back as strictly as any other write. Computed again from the newest
 * version when somebody else was faster, unless the patch itself names a resourceVersion.
 */
export async function patchObject(store: KindStore, input: PatchInput, context: WriteContext): Promise<StoreResult> {
  const { door, patch } = readPatch(input);
  const metadata = isJsonObject(patch.metadata) ? patch.metadata : {};
  checkIdentity(store, input.at, metadata);
  const warnings = new Set<string>();
  const compute = (previous: AnyObject): AnyObject => {
    if (typeof metadata.uid === 'string' && metadata.uid !== previous.metadata?.uid) {
      throw conflict(
        store.subject(input.at),
        `the uid is ${previous.metadata?.uid}, not ${metadata.uid}: the object was deleted and made again`,
      );
    }
    const sent = applyPatch(store, door, patch, previous);
    if (door === 'object') for (const warning of store.kind.warnings?.(sent) ?? []) warnings.add(warning);
    return nextVersion(store, door, sent, previous);
  };
  const resourceVersion = typeof metadata.resourceVersion === 'string' ? metadata.resourceVersion : undefined;
  const verb = door === 'status' ? 'patch-status' : 'patch';
  const bytes = await store.change(input.at, { context, verb, resourceVersion, compute });
  return { bytes, warnings: [...warnings] };
}

function readPatch({ type, patch: bytes, subresource }: PatchInput): { door: Door; patch: JsonObject } {
  if (type !== MERGE_PATCH) throw badRequest(`cannot patch: the type "${type}" is not supported, use "${MERGE_PATCH}"`);
  if (subresource !== '' && subresource !== 'status')
    throw badRequest(`cannot patch: there is no subresource "${subresource}", use "status" or none`);
  const patch = parseJson(bytes, 'patch') as Json;
  if (!isJsonObject(patch)) throw badRequest('cannot patch: a merge patch is a JSON object');
  return { door: subresource === 'status' ? 'status' : 'object', patch };
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

/** The patched object; a status patch touches nothing but the status, and of its conditions only the types that it names. */
function applyPatch({ kind }: KindStore, door: Door, patch: JsonObject, previous: AnyObject): AnyObject {
  const before = toJson(kind, previous);
  if (door === 'object') return fromJson<AnyObject>(kind, mergePatch(before, patch));
  const status = mergePatch(before.status, patch.status ?? {}) as JsonObject;
  const conditions = mergeConditions(before.status, patch.status);
  if (conditions) status.conditions = conditions;
  return fromJson<AnyObject>(kind, { ...before, status });
}

function mergeConditions(before: Json | undefined, patch: Json | undefined): Json[] | undefined {
  const changed = isJsonObject(patch) ? patch.conditions : undefined;
  if (!Array.isArray(changed)) return undefined;
  const present = isJsonObject(before) && Array.isArray(before.conditions) ? before.conditions : [];
  const merged = [...present];
  for (const condition of changed) {
    const at = merged.findIndex((other) => typeOf(other) !== undefined && typeOf(other) === typeOf(condition));
    if (at < 0) merged.push(condition);
    else merged[at] = mergePatch(merged[at], condition);
  }
  return merged;
}

function typeOf(condition: Json | undefined): Json | undefined {
  return isJsonObject(condition) ? condition.type : undefined;
}
