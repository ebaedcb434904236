import { varintSize, writeVarint } from '../../../api/codec/wire-format.ts';
import type { WireReader } from '../../../api/codec/wire-reader.ts';
import { badRequest } from '../../../api/errors/index.ts';
import { isJsonObject, type Json, type JsonObject, setMember } from '../../../api/meta/merge-patch.ts';

// The schemas of custom kinds as Kubernetes' message JSONSchemaProps, which Berth carries as JSON.

/** How a member stands in the message. Those with "own" are pointers in Go's type: a zero is a value. */
type Form =
  | 'text'
  | 'own text'
  | 'bool'
  | 'own bool'
  | 'double'
  | 'integer'
  | 'json'
  | 'jsons'
  | 'texts'
  | 'schema'
  | 'schemas'
  | 'schemaMap'
  | 'schemaOrList'
  | 'schemaOrBool'
  | 'textsOrSchemaMap'
  | 'docs'
  | 'rules';

interface Member {
  readonly number: number;
  readonly name: string;
  readonly form: Form;
}

const membersOf = (list: readonly (readonly [number, string, Form])[]): readonly Member[] =>
  list.map(([number, name, form]) => ({ number, name, form }));

/** By Kubernetes' numbers. */
const schemaMembers = membersOf([
  [1, 'id', 'text'],
  [2, '$schema', 'text'],
  [3, '$ref', 'own text'],
  [4, 'description', 'text'],
  [5, 'type', 'text'],
  [6, 'format', 'text'],
  [7, 'title', 'text'],
  [8, 'default', 'json'],
  [9, 'maximum', 'double'],
  [10, 'exclusiveMaximum', 'bool'],
  [11, 'minimum', 'double'],
  [12, 'exclusiveMinimum', 'bool'],
  [13, 'maxLength', 'integer'],
  [14, 'minLength', 'integer'],
  [15, 'pattern', 'text'],
  [16, 'maxItems', 'integer'],
  [17, 'minItems', 'integer'],
  [18, 'uniqueItems', 'bool'],
  [19, 'multipleOf', 'double'],
  [20, 'enum', 'jsons'],
  [21, 'maxProperties', 'integer'],
  [22, 'minProperties', 'integer'],
  [23, 'required', 'texts'],
  [24, 'items', 'schemaOrList'],
  [25, 'allOf', 'schemas'],
  [26, 'oneOf', 'schemas'],
  [27, 'anyOf', 'schemas'],
  [28, 'not', 'schema'],
  [29, 'properties', 'schemaMap'],
  [30, 'additionalProperties', 'schemaOrBool'],
  [31, 'patternProperties', 'schemaMap'],
  [32, 'dependencies', 'textsOrSchemaMap'],
  [33, 'additionalItems', 'schemaOrBool'],
  [34, 'definitions', 'schemaMap'],
  [35, 'externalDocs', 'docs'],
  [36, 'example', 'json'],
  [37, 'nullable', 'bool'],
  [38, 'x-kubernetes-preserve-unknown-fields', 'own bool'],
  [39, 'x-kubernetes-embedded-resource', 'bool'],
  [40, 'x-kubernetes-int-or-string', 'bool'],
  [41, 'x-kubernetes-list-map-keys', 'texts'],
  [42, 'x-kubernetes-list-type', 'own text'],
  [43, 'x-kubernetes-map-type', 'own text'],
  [44, 'x-kubernetes-validations', 'rules'],
]);
const docsMembers = membersOf([
  [1, 'description', 'text'],
  [2, 'url', 'text'],
]);
const ruleMembers = membersOf([
  [1, 'rule', 'text'],
  [2, 'message', 'text'],
  [3, 'messageExpression', 'text'],
  [4, 'reason', 'own text'],
  [5, 'fieldPath', 'text'],
  [6, 'optionalOldSelf', 'own bool'],
]);

const [VARINT, FIXED, BYTES] = [0, 1, 2];
/** As deep as JSON is read. */
const MOST_DEEP = 128;

/** A schema as the message. Members that the message does not have, and values of another form, are left out. */
export const encodeSchema = (schema: Json): Buffer => encodeMembers(schemaMembers, schema);

function encodeMembers(members: readonly Member[], value: Json): Buffer {
  if (!isJsonObject(value)) return Buffer.alloc(0);
  return Buffer.concat(
    members.flatMap(({ number, name, form }) => {
      const member = Object.hasOwn(value, name) ? value[name] : undefined;
      return member === undefined || (member === null && form !== 'json') ? [] : encodeMember(number, form, member);
    }),
  );
}

const list = (value: Json): readonly Json[] => (Array.isArray(value) ? value : []);
const entries = (value: Json): [string, Json][] => (isJsonObject(value) ? (Object.entries(value) as [string, Json][]) : []);

function encodeMember(number: number, form: Form, value: Json): Buffer[] {
  switch (form) {
    case 'text':
    case 'own text':
      return typeof value === 'string' ? [bytesField(number, Buffer.from(value))] : [];
    case 'bool':
    case 'own bool':
      return typeof value === 'boolean' ? [varintField(number, value ? 1 : 0)] : [];
    case 'integer':
      return typeof value === 'number' ? [varintField(number, Math.trunc(value))] : [];
    case 'double':
      return typeof value === 'number' ? [doubleField(number, value)] : [];
    case 'json':
      return [bytesField(number, jsonMessage(value))];
    case 'jsons':
      return list(value).map((each) => bytesField(number, jsonMessage(each)));
    case 'texts':
      return list(value).map((each) => bytesField(number, Buffer.from(String(each))));
    case 'schema':
      return [bytesField(number, encodeSchema(value))];
    case 'schemas':
      return list(value).map((each) => bytesField(number, encodeSchema(each)));
    case 'schemaMap':
      return entries(value).map(([name, each]) => bytesField(number, entryMessage(name, encodeSchema(each))));
    case 'schemaOrList':
      return [bytesField(number, alternatives(Array.isArray(value) ? [undefined, ...value] : [value]))];
    case 'schemaOrBool':
      return [bytesField(number, orBool(value))];
    case 'textsOrSchemaMap':
      return entries(value).map(([name, each]) => bytesField(number, entryMessage(name, textsOrSchema(each))));
    case 'docs':
      return [bytesField(number, encodeMembers(docsMembers, value))];
    case 'rules':
      return list(value).map((each) => bytesField(number, encodeMembers(ruleMembers, each)));
  }
}

/** JSONSchemaPropsOrArray: one schema, or behind an absent one a list of them. */
const alternatives = ([one, ...others]: readonly (Json | undefined)[]): Buffer =>
  Buffer.concat([
    ...(one === undefined ? [] : [bytesField(1, encodeSchema(one))]),
    ...others.map((each) => bytesField(2, encodeSchema(each ?? {}))),
  ]);

/** JSONSchemaPropsOrBool: a schema allows. */
const orBool = (value: Json): Buffer =>
  Buffer.concat([varintField(1, value === false ? 0 : 1), ...(isJsonObject(value) ? [bytesField(2, encodeSchema(value))] : [])]);

/** JSONSchemaPropsOrStringArray. */
const textsOrSchema = (value: Json): Buffer =>
  Array.isArray(value)
    ? Buffer.concat(value.map((each) => bytesField(2, Buffer.from(String(each)))))
    : bytesField(1, encodeSchema(value));

const jsonMessage = (value: Json): Buffer => bytesField(1, Buffer.from(JSON.stringify(value)));

const entryMessage = (name: string, value: Buffer): Buffer =>
  Buffer.concat([bytesField(1, Buffer.from(name)), bytesField(2, value)]);

/** A length-delimited field of any number. */
export function bytesField(number: number, value: Uint8Array): Buffer {
  const tag = number * 8 + BYTES;
  const head = Buffer.allocUnsafe(varintSize(tag) + varintSize(value.length));
  writeVarint(head, writeVarint(head, 0, tag), value.length);
  return Buffer.concat([head, value]);
}

function varintField(number: number, value: number): Buffer {
  const out: number[] = [];
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    if (rest < 0x80n) {
      out.push(Number(rest));
      break;
    }
    out.push(Number(rest & 0x7fn) | 0x80);
  }
  return Buffer.concat([tagOf(number, VARINT), Buffer.from(out)]);
}

function doubleField(number: number, value: number): Buffer {
  const out = Buffer.alloc(8);
  out.writeDoubleLE(value);
  return Buffer.concat([tagOf(number, FIXED), out]);
}

function tagOf(number: number, wire: number): Buffer {
  const tag = number * 8 + wire;
  const out = Buffer.allocUnsafe(varintSize(tag));
  writeVarint(out, 0, tag);
  return out;
}

/** The schema of a message; zeros that Go's types cannot tell from nothing are left out. Throws BAD_REQUEST. */
export const decodeSchema = (reader: WireReader): JsonObject => decodeMembers(schemaMembers, reader, 0);

const wires: Readonly<Partial<Record<Form, number>>> = {
  bool: VARINT,
  'own bool': VARINT,
  integer: VARINT,
  double: FIXED,
};

function decodeMembers(members: readonly Member[], reader: WireReader, depth: number): JsonObject {
  if (depth > MOST_DEEP) throw badRequest(`the body holds a schema that is deeper than ${MOST_DEEP} levels`);
  const result: JsonObject = {};
  while (reader.next()) {
    const member = members.find(({ number }) => number === reader.number);
    if (!member) throw badRequest(`the body holds a schema with the field ${reader.number}, which is not known`);
    const { name, form } = member;
    if (reader.wire !== (wires[form] ?? BYTES)) throw badRequest(`the body holds a schema whose ${name} cannot be read`);
    const value = decodeMember(form, reader, depth, Object.hasOwn(result, name) ? result[name] : undefined);
    if (value !== undefined) setMember(result, name, value);
  }
  return result;
}

const textOf = (reader: WireReader): string => reader.value().toString();

/** What a field makes of a member; undefined for a zero that is nothing. `before`: of the fields before it. */
function decodeMember(form: Form, reader: WireReader, depth: number, before: Json | undefined): Json | undefined {
  const below = (members: readonly Member[]): JsonObject => decodeMembers(members, reader.inner(), depth + 1);
  const behind = (value: Json): Json => {
    const all = (before ?? []) as Json[];
    all.push(value);
    return all;
  };
  switch (form) {
    case 'text':
      return textOf(reader) || undefined;
    case 'own text':
      return textOf(reader);
    case 'bool':
      return reader.number32() !== 0 || undefined;
    case 'own bool':
      return reader.number32() !== 0;
    case 'integer':
      return integerOf(reader);
    case 'double':
      return reader.value().readDoubleLE(0);
    case 'json':
      return jsonOf(reader);
    case 'jsons':
      return behind(jsonOf(reader));
    case 'texts':
      return behind(textOf(reader));
    case 'schema':
      return below(schemaMembers);
    case 'schemas':
      return behind(below(schemaMembers));
    case 'docs':
      return below(docsMembers);
    case 'rules':
      return behind(below(ruleMembers));
    case 'schemaOrList':
    case 'schemaOrBool':
      return alternativeOf(reader.inner(), form, depth);
    case 'schemaMap':
    case 'textsOrSchemaMap': {
      const map = (before ?? {}) as JsonObject;
      const [key, value] = entryOf(reader.inner(), form, depth);
      setMember(map, key, value);
      return map;
    }
  }
}

function integerOf(reader: WireReader): number {
  reader.at = reader.valueStart;
  return reader.int64();
}

function jsonOf(reader: WireReader): Json {
  const message = reader.inner();
  if (!message.next() || message.number !== 1 || message.wire !== BYTES) return null;
  try {
    return message.valueEnd === message.valueStart ? null : (JSON.parse(textOf(message)) as Json);
  } catch (error) {
    throw badRequest(`the body holds a schema with a value that is no JSON: ${(error as Error).message}`);
  }
}

/** JSONSchemaPropsOrArray, JSONSchemaPropsOrBool and JSONSchemaPropsOrStringArray. */
function alternativeOf(message: WireReader, form: Form, depth: number): Json {
  let one: Json | undefined;
  const others: Json[] = [];
  let allows = false;
  while (message.next()) {
    const isSchema = form === 'schemaOrBool' ? message.number === 2 : message.number === 1 || form === 'schemaOrList';
    if (!isSchema) {
      if (form === 'schemaOrBool') allows = message.number32() !== 0;
      else others.push(textOf(message));
      continue;
    }
    const schema = decodeMembers(schemaMembers, message.inner(), depth + 1);
    if (form === 'schemaOrList' && message.number === 2) others.push(schema);
    else one = schema;
  }
  return one ?? (form === 'schemaOrBool' ? allows : others);
}

function entryOf(entry: WireReader, form: Form, depth: number): [string, Json] {
  let [key, value]: [string, Json] = ['', {}];
  while (entry.next()) {
    if (entry.number === 1) key = textOf(entry);
    else if (form === 'schemaMap') value = decodeMembers(schemaMembers, entry.inner(), depth + 1);
    else value = alternativeOf(entry.inner(), form, depth);
  }
  return [key, value];
}
