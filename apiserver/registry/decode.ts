import type { Type } from 'protobufjs';
import { storeQuantities } from '../../api/codec/canonical.ts';
import { messageType } from '../../api/codec/descriptors.ts';
import { findDuplicates } from '../../api/codec/duplicate-keys.ts';
import { readObject, subjectOf, undecodable } from '../../api/codec/json.ts';
import { decodeForeign } from '../../api/codec/message.ts';
import { countJsonValues } from '../../api/codec/open-message.ts';
import { findUnsayable } from '../../api/codec/value-checks.ts';
import { LENGTH_DELIMITED } from '../../api/codec/wire-format.ts';
import { WireReader } from '../../api/codec/wire-reader.ts';
import { ApiError, badRequest, type FieldViolation, invalid } from '../../api/errors/index.ts';
import { duplicateField, FIELD_UNKNOWN, invalidValue, required, unknownField } from '../../api/errors/violations.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { isTextTooDeep, isTooDeep, tooDeepText } from '../../api/meta/json-depth.ts';
import { isJsonObject } from '../../api/meta/merge-patch.ts';
import { checkElements, checkJsonElements } from './kind-bounds.ts';
import type { WriteContext } from './write-context.ts';

interface KnownField {
  readonly name: string;
  readonly repeated: boolean;
  readonly map: boolean;
  readonly child: (() => Shape) | undefined;
}

/** What of a message type the walk over its bytes needs: the known numbers, and the messages below them. */
type Shape = ReadonlyMap<number, KnownField>;

const shapes = new WeakMap<Type, Shape>();
/** Deeper nesting than any of the API's messages has. */
const MAX_DEPTH = 32;
const MAX_VIOLATIONS = 100;
const MAP_KEY = 1;
const MAP_VALUE = 2;

function shapeOf(type: Type): Shape {
  const known = shapes.get(type);
  if (known) return known;
  const fields = type.fieldsArray.map((field): [number, KnownField] => {
    const { resolvedType } = field.resolve();
    const child = resolvedType && 'fieldsArray' in resolvedType ? (resolvedType as Type) : undefined;
    return [field.id, { name: field.name, repeated: field.repeated, map: field.map, child: child && (() => shapeOf(child)) }];
  });
  const shape = new Map(fields);
  shapes.set(type, shape);
  return shape;
}

function walk(shape: Shape, reader: WireReader, path: string, depth: number, found: FieldViolation[]): void {
  if (depth > MAX_DEPTH) throw badRequest(`cannot decode the object: "${path}" is nested too deeply`);
  const counts = new Map<number, number>();
  while (reader.next() && found.length < MAX_VIOLATIONS) {
    const field = shape.get(reader.number);
    if (!field) found.push(unknownField(`${path}${path && '.'}#${reader.number}`));
    else if ((field.child || field.map) && reader.wire === LENGTH_DELIMITED) {
      const index = counts.get(reader.number) ?? 0;
      counts.set(reader.number, index + 1);
      const at = `${path}${path && '.'}${field.name}`;
      const inner = reader.inner();
      if (field.map) walkEntry(field, inner, at, depth + 1, found);
      else walk(field.child!(), inner, field.repeated ? `${at}[${index}]` : at, depth + 1, found);
    }
  }
}

function walkEntry({ child }: KnownField, reader: WireReader, path: string, depth: number, found: FieldViolation[]): void {
  let key = '';
  let value: WireReader | undefined;
  const unknown: number[] = [];
  while (reader.next()) {
    if (reader.number === MAP_KEY) key = Buffer.from(reader.value()).toString();
    else if (reader.number === MAP_VALUE) value = reader.inner();
    else unknown.push(reader.number);
  }
  for (const number of unknown.slice(0, MAX_VIOLATIONS)) found.push(unknownField(`${path}[${key}].#${number}`));
  if (value && child) walk(child(), value, `${path}[${key}]`, depth, found);
}

/** Every field of encoded bytes that the message does not have, as "spec.containers[0].#99". */
export function findUnknownFields(messageName: string, bytes: Uint8Array): FieldViolation[] {
  const found: FieldViolation[] = [];
  walk(shapeOf(messageType(messageName)), new WireReader(bytes), '', 0, found);
  return found;
}

/**
 * Decodes bytes from outside. Throws INVALID_ARGUMENT for bytes that are no such message or have fields that it does
 * not have.
 */
export function decodeStrictly<T extends object>(messageName: string, bytes: Uint8Array, what: string): T {
  let violations: FieldViolation[] = [];
  let value: T;
  try {
    const decoded = decodeForeign<T>(messageName, bytes);
    value = decoded.value;
    // Only what is refused costs a walk that finds the names.
    if (decoded.hasUnknown) violations = findUnknownFields(messageName, bytes);
  } catch (error) {
    throw badRequest(`cannot decode the ${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const parts = { of: 'decoding', kind: what, apiVersion: 'v1', message: messageName } as const;
  if (violations.length > 0) throw invalid({ kind: what }, violations, parts);
  return value;
}

/** How strictly an object is read. */
export interface Reading {
  /** Absent: fields that the kind does not have are refused, and of a member that comes twice the last counts. */
  readonly fieldValidation?: WriteContext['fieldValidation'];
  /**
   * Where what is left out is noted, instead of refused: fields that the kind does not have, and what stands before
   * another of the same name.
   */
  readonly leftOut?: FieldViolation[] | undefined;
  /** JSON has to say of which kind it is, as Kubernetes' does of custom kinds. */
  readonly namesKind?: boolean | undefined;
  /** Changes what was decoded of a message, in place, by what its writer means with it. */
  readonly interpret?: ((message: string, object: object) => void) | undefined;
}

/**
 * Decodes an object of a write from either of its forms; what one of them refuses, the other does too. One with too
 * many elements is refused before it is decoded.
 */
export function decodeObject(kind: Kind, bytes: Uint8Array, format: 'protobuf' | 'json', reading: Reading = {}): ApiObject {
  if (format === 'json') {
    const json = parseJson(bytes, kind.singular);
    if (reading.namesKind) requireType(kind, json);
    checkJsonElements(kind, json, subjectOf(kind, json));
    const read = objectFromJson(kind, json, reading, duplicatesIn(bytes, json, reading));
    reading.interpret?.(kind.message, read);
    return read;
  }
  refuseElements(kind, bytes);
  const object = reading.leftOut
    ? decodeLeniently<ApiObject>(kind.message, bytes, kind.singular)
    : decodeStrictly<ApiObject>(kind.message, bytes, kind.singular);
  reading.interpret?.(kind.message, object);
  requireSayable(kind, object);
  storeQuantities(kind.message, object);
  return object;
}

/** Throws BAD_REQUEST for an object that names no kind or another version, INVALID for one of another kind. */
function requireType(kind: Kind, json: unknown): void {
  const { apiVersion, kind: found } = isJsonObject(json) ? json : {};
  const { singular, kind: name, apiVersion: version } = kind;
  if (!found) {
    const message = `the object provided is unrecognized (must be of type ${name}): Object 'Kind' is missing`;
    throw badRequest(`cannot decode the ${singular}: name its kind`, [required('kind')], { of: 'text', message });
  }
  if (apiVersion !== version) {
    const said = typeof apiVersion === 'string' ? apiVersion : '';
    const message = `the API version in the data (${said}) does not match the expected API version (${version})`;
    const violation = apiVersion ? invalidValue('apiVersion', said, `must be ${version}`) : required('apiVersion');
    throw badRequest(`cannot decode the ${singular}: ${message}`, [violation], { of: 'text', message });
  }
  if (found !== name) throw invalid(subjectOf(kind, json), [invalidValue('kind', found, `must be ${name}`)]);
}

/** The members that a text of JSON has twice, where the writer wants to hear of them. */
export function duplicatesIn(
  bytes: Uint8Array,
  json: unknown,
  { fieldValidation }: Pick<Reading, 'fieldValidation'>,
): FieldViolation[] {
  if (fieldValidation !== 'Strict' && fieldValidation !== 'Warn') return [];
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return findDuplicates(text, json).map((path) => duplicateField(path));
}

/** The same of JSON that is read already; `twice` is what its text has twice. */
export function objectFromJson<T extends ApiObject>(
  kind: Kind,
  json: unknown,
  { fieldValidation, leftOut }: Reading = {},
  twice: readonly FieldViolation[] = [],
): T {
  const { value, violations: found } = readObject<T>(kind, json);
  const violations = [...twice, ...found];
  if (violations.length === 0) return value;
  const isOnlyStrict = found.every(({ reason }) => reason === FIELD_UNKNOWN);
  if (!isOnlyStrict || (found.length > 0 && !leftOut) || fieldValidation === 'Strict') throw undecodable(kind, json, violations);
  leftOut?.push(...violations);
  return value;
}

function decodeLeniently<T extends object>(messageName: string, bytes: Uint8Array, what: string): T {
  try {
    return decodeForeign<T>(messageName, bytes).value;
  } catch (error) {
    throw badRequest(`cannot decode the ${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Damaged bytes are refused where they are decoded. */
function refuseElements(kind: Kind, bytes: Uint8Array): void {
  try {
    checkElements(kind, bytes, { kind: kind.kind });
  } catch (error) {
    if (error instanceof ApiError) throw error;
  }
}

/** Throws INVALID_ARGUMENT for what a message holds and the JSON form of the object could not say. */
export function requireSayable(kind: Kind, object: ApiObject): void {
  const violations = findUnsayable(kind, object);
  if (violations.length > 0) throw invalid(subjectOf(kind, object), violations.slice(0, MAX_VIOLATIONS));
}

/** An object has far fewer. Each that is read costs a microsecond and some tens of bytes, of two bytes of the body. */
const mostValues = 400_000;

/**
 * Parses JSON from outside. Throws INVALID_ARGUMENT with the parser's words, and for JSON that is nested too deeply or
 * has too many values.
 */
export function parseJson(bytes: Uint8Array, what: string): unknown {
  const tooDeep = () => badRequest(`cannot read the ${what}: it ${tooDeepText}`);
  if (isTextTooDeep(bytes)) throw tooDeep();
  if (bytes.length > mostValues && countJsonValues(bytes) > mostValues)
    throw badRequest(`cannot read the ${what}: it has more than ${mostValues} values`);
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch (error) {
    throw badRequest(`cannot read the ${what} as JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (isTooDeep(value)) throw tooDeep();
  return value;
}
