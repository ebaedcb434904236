import type { FieldViolation } from '../errors/api-error.ts';
import { forbidden, invalidValue, tooLong } from '../errors/violations.ts';
import { dataKeyError } from '../meta/names.ts';

/** The most that the values of one ConfigMap or Secret may have together, as in Kubernetes. */
export const DATA_MAX_BYTES = 1024 * 1024;

/** Keys become file names: each must be one. */
export function validateDataKeys(field: string, data: Readonly<Record<string, unknown>> | undefined): FieldViolation[] {
  const violations: FieldViolation[] = [];
  for (const key of Object.keys(data ?? {})) {
    const rule = dataKeyError(key);
    if (rule) violations.push(invalidValue(`${field}[${key}]`, key, rule));
  }
  return violations;
}

/** The values together must fit. */
export function validateDataSize(
  field: string,
  maps: readonly (Readonly<Record<string, string | Uint8Array>> | undefined)[],
): FieldViolation[] {
  let bytes = 0;
  for (const map of maps) for (const value of Object.values(map ?? {})) bytes += Buffer.byteLength(value);
  return bytes > DATA_MAX_BYTES ? [tooLong(field, DATA_MAX_BYTES, 'bytes')] : [];
}

type DataMap = Readonly<Record<string, string | Uint8Array>>;

/** Whether two maps have the same keys and bytes. */
export function sameData(a: DataMap = {}, b: DataMap = {}): boolean {
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && Buffer.from(a[key]! as string).equals(Buffer.from(b[key]! as string)));
}

interface Immutable {
  immutable?: boolean;
}

/** Once immutable, always immutable; and then nothing of `fields` changes. */
export function validateImmutable<T extends Immutable>(
  next: T,
  previous: T,
  fields: { [name: string]: (object: T) => DataMap | undefined },
): FieldViolation[] {
  if (!previous.immutable) return [];
  const violations: FieldViolation[] = [];
  if (!next.immutable) violations.push(forbidden('immutable', 'cannot be unset; delete the object and create it anew'));
  for (const [name, read] of Object.entries(fields)) {
    if (!sameData(read(next), read(previous))) violations.push(forbidden(name, 'cannot change while immutable is set'));
  }
  return violations;
}
