import { type JsonObject, setMember } from '../../api/meta/merge-patch.ts';

/**
 * A deep copy of an object as messages are read. `structuredClone` would make other things of its bytes, which then
 * count as changed.
 */
export function cloneObject<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(cloneObject) as T;
  if (value instanceof Uint8Array) return Buffer.from(value) as unknown as T;
  const copy: JsonObject = {};
  for (const [key, each] of Object.entries(value)) setMember(copy, key, cloneObject(each));
  return copy as T;
}
