import type { ApiError, ErrorSubject, FieldViolation } from '../errors/api-error.ts';
import { invalid } from '../errors/constructors.ts';
import { invalidValue } from '../errors/violations.ts';
import type { Kind } from '../kinds/kind.ts';
import { isJsonObject, type JsonObject } from '../meta/merge-patch.ts';
import { messagePlan } from './json-plan.ts';
import { JsonReader } from './json-reader.ts';

/** What of a kind the codec needs. */
type KindNames = Pick<Kind, 'kind' | 'apiVersion' | 'message' | 'confidential'>;

/** An object of a kind in Kubernetes' JSON form, with apiVersion and kind. */
export function toJson(kind: KindNames, object: object): JsonObject {
  return { apiVersion: kind.apiVersion, kind: kind.kind, ...messagePlan(kind.message).write(object) };
}

/** A message in JSON form. */
export function messageToJson(messageName: string, value: object): JsonObject {
  return messagePlan(messageName).write(value);
}

/**
 * Reads an object of a kind from Kubernetes' JSON form. A field that is null is absent, and so are empty lists and
 * maps; null in a list or map is the zero of its type. Throws
 * ApiError (invalid) that lists every unknown field and every value of a wrong type with its path. apiVersion and kind
 * may be left out, but must not be others.
 */
export function fromJson<T extends object>(kind: KindNames, json: unknown): T {
  const { value, violations } = readObject<T>(kind, json);
  if (violations.length > 0) throw undecodable(kind, json, violations);
  return value;
}

/** The error of an object that cannot be read. */
export function undecodable(kind: KindNames, json: unknown, violations: readonly FieldViolation[]): ApiError {
  const { apiVersion, message } = kind;
  return invalid(subjectOf(kind, json), violations, { of: 'decoding', kind: kind.kind, apiVersion, message });
}

/** Reads a message from JSON, as strictly. */
export function messageFromJson<T extends object>(messageName: string, json: unknown): T {
  const at = new JsonReader();
  const value = messagePlan(messageName).read(json, at);
  const kind = messageName.slice(messageName.lastIndexOf('.') + 1);
  const parts = { of: 'decoding', kind, apiVersion: 'v1', message: messageName } as const;
  if (at.violations.length > 0) throw invalid({ kind }, at.violations, parts);
  return value as T;
}

/**
 * The same as fromJson for callers that want the violations themselves. The value is complete only when there are none.
 */
export function readObject<T extends object>(
  kind: KindNames,
  json: unknown,
): { value: T; violations: readonly FieldViolation[] } {
  const at = new JsonReader({ showValues: !kind.confidential });
  let body = json;
  const violations: FieldViolation[] = [];
  if (isJsonObject(json)) {
    const { apiVersion, kind: name, ...rest } = json;
    violations.push(...checkName('apiVersion', apiVersion, kind.apiVersion), ...checkName('kind', name, kind.kind));
    body = rest;
  }
  const value = messagePlan(kind.message).read(body, at) as T;
  return { value, violations: [...violations, ...at.violations] };
}

/** Left out or empty, the name is the one that is expected, as in Kubernetes. */
function checkName(field: string, found: unknown, expected: string): FieldViolation[] {
  if (found === undefined || found === null || found === '' || found === expected) return [];
  return [invalidValue(field, found, `must be "${expected}"`)];
}

/** Who an error is about, as far as the document says. */
export function subjectOf(kind: KindNames, json: unknown): ErrorSubject {
  const metadata = isJsonObject(json) && isJsonObject(json.metadata) ? json.metadata : {};
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  const [name, namespace] = [text(metadata.name) ?? text(metadata.generateName), text(metadata.namespace)];
  return { kind: kind.kind, ...(name === undefined ? {} : { name }), ...(namespace === undefined ? {} : { namespace }) };
}
