import { fromJson, toJson } from '../../api/codec/json.ts';
import { kindOf } from '../../api/kinds/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { isJsonObject, type Json, type JsonObject, mergePatch } from '../../api/meta/merge-patch.ts';

/** What the server makes of a JSON merge patch; conditions are merged by type, as through its status door. */
export function patchObject<T extends ApiObject>(kindName: string, object: T, patch: object): T {
  const kind = kindOf(kindName);
  if (!kind) throw new RangeError(`patch a fake ${kindName}: unknown kind`);
  const before = toJson(kind, object);
  const after = mergePatch(before, patch as Json) as JsonObject;
  if (
    isJsonObject(after.status) &&
    isJsonObject(before.status) &&
    ('conditions' in after.status || 'conditions' in before.status)
  )
    after.status.conditions = mergeConditions(conditionsOf(before.status), conditionsOf(after.status));
  return fromJson<T>(kind, after);
}

function conditionsOf({ conditions }: JsonObject): JsonObject[] {
  return Array.isArray(conditions) ? conditions.filter(isJsonObject) : [];
}

function mergeConditions(before: readonly JsonObject[], patched: readonly JsonObject[]): JsonObject[] {
  const kept = before.map((condition) => patched.find(({ type }) => type === condition.type) ?? condition);
  return [...kept, ...patched.filter(({ type }) => !before.some((condition) => condition.type === type))];
}
