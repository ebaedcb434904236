import { isJsonObject, type Json, type JsonObject, mergePatch } from '../../api/meta/merge-patch.ts';

/**
 * The merge patch of a status as agents and controllers of the minor version before send it: of the conditions only the
 * types that it names change, and `$patch: delete` takes one away. All other callers get RFC 7396, which replaces the
 * list; merging by type is what a strategic merge patch does. To be removed with the next minor version.
 */
export function applyMergingConditions(before: JsonObject, patch: JsonObject): JsonObject {
  const after = mergePatch(before, patch) as JsonObject;
  const conditions = mergeConditions(before.status, patch.status);
  if (conditions && isJsonObject(after.status)) after.status.conditions = conditions;
  return after;
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
