/**
 * A deep copy of an object as messages are read. `structuredClone` would make other things of its bytes, which then
 * count as changed.
 */
export function cloneObject<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value) as unknown as T;
  if (Array.isArray(value)) return value.map(cloneObject) as T;
  // Not by assignment, for which the key "__proto__" is something else.
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, cloneObject(each)])) as T;
}
