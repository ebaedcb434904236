import { equalValues } from './equal.ts';

/** What JSON can say. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Sets a member, whatever its name. */
export function setMember(target: JsonObject, key: string, value: Json): void {
  if (key === '__proto__') Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

/** RFC 7396: null removes, objects merge, everything else replaces. Neither argument is changed. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const result: JsonObject = {};
  if (isJsonObject(target)) for (const key of Object.keys(target)) setMember(result, key, target[key]!);
  for (const key of Object.keys(patch)) {
    const value = patch[key]!;
    if (value === null) delete result[key];
    else setMember(result, key, mergePatch(Object.hasOwn(result, key) ? result[key] : undefined, value));
  }
  return result;
}

/**
 * The patch that makes `after` of `before`; undefined when there is nothing to change. Lists are replaced as a whole.
 */
export function computeMergePatch(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const patch: JsonObject = {};
  for (const key of Object.keys(after)) {
    const [old, wanted] = [Object.hasOwn(before, key) ? before[key] : undefined, after[key]!];
    if (isJsonObject(old) && isJsonObject(wanted)) {
      const inner = computeMergePatch(old, wanted);
      if (inner) setMember(patch, key, inner);
    } else if (!equalValues(old, wanted)) setMember(patch, key, wanted);
  }
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) setMember(patch, key, null);
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/**
 * Whether everything that a patch changes is in `live` as it was in `before`,
 * so that the patch takes nothing back that others did.
 */
export function isUntouched(patch: JsonObject, before: JsonObject, live: JsonObject): boolean {
  return Object.keys(patch).every((key) => {
    const [change, old, now] = [patch[key], before[key], live[key]];
    if (isJsonObject(change) && isJsonObject(old) && isJsonObject(now)) return isUntouched(change, old, now);
    return equalValues(old, now);
  });
}
