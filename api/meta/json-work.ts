import { maxJsonDepth, tooDeepText } from './json-depth.ts';
import { type Json, type JsonObject, setMember } from './merge-patch.ts';

/**
 * Values that one patch may visit in all: at 10,000 operations 30 for each.
 * Takes 0.1 to 0.3 s where they are members of very large objects.
 */
const maxVisits = 300_000;
/** What copies may add up to, in bytes of memory: each may double the object. Kubernetes bounds the same at 3 MiB. */
const maxCopiedBytes = 3 * 1024 * 1024;
const bytesOfValue = 16;

/** Counts what one patch costs. Throws as soon as it costs too much. */
export class JsonWork {
  #visits = 0;
  #copied = 0;

  visit(values: number): void {
    this.#visits += values;
    if (this.#visits > maxVisits) throw new Error('the patch takes too much work');
  }

  copy(bytes: number): void {
    this.#copied += bytes;
    if (this.#copied > maxCopiedBytes) throw new Error('the copies are too large');
  }
}

/** A copy of a value, counted as work, and as a copy where the patch says `copy`. */
export function cloneJson(value: Json, work: JsonWork, isCopy = false, left = maxJsonDepth): Json {
  work.visit(1);
  if (isCopy) work.copy(bytesOfValue + (typeof value === 'string' ? value.length : 0));
  if (typeof value !== 'object' || value === null) return value;
  if (left === 0) throw new Error(`the value ${tooDeepText}`);
  if (Array.isArray(value)) return value.map((item) => cloneJson(item, work, isCopy, left - 1));
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    if (isCopy) work.copy(key.length);
    setMember(result, key, cloneJson(value[key]!, work, isCopy, left - 1));
  }
  return result;
}

/** Whether two values say the same. Goes as deep as the shallower of them. */
export function equalJson(a: Json, b: Json, work: JsonWork): boolean {
  work.visit(1);
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, at) => equalJson(item, b[at]!, work));
  }
  const keys = Object.keys(a);
  work.visit(keys.length);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key]!, b[key]!, work));
}
