import protobuf, { type Field, type Type } from 'protobufjs';
import type { Duration, IntOrString } from '../generated/types.ts';
import { toRfc3339 } from '../meta/time.ts';
import { messageType } from './descriptors.ts';
import { toJson } from './json.ts';
import { INLINE } from './json-fields.ts';
import { decodeMessage } from './message.ts';
import { isOpen } from './open-message.ts';
import { durationCodec, intOrStringCodec } from './scalars.ts';
import { LENGTH_DELIMITED, VARINT } from './wire-format.ts';
import { WireInput } from './wire-input.ts';

// Encoded objects as the text of their JSON, without objects in between: a list of many is mostly this work. Compiled
// for each message, as its decoder is.

/** Writes the members of the message that ends at `end`, without braces. */
type Writer = (input: WireInput, end: number) => string;

const MICRO_TIME = '(berth.meta.v1.micro_time)';
const RAW_JSON = '(berth.meta.v1.raw_json)';
const EMBEDDED_KIND = '(berth.meta.v1.embedded_kind)';

/** Bytes that this way does not read: a message that comes in two parts, for one. Our own encoder writes none. */
class NotPlain extends Error {}

interface Named {
  readonly kind: string;
  readonly apiVersion: string;
  readonly message: string;
}

/** An encoded object as JSON, with apiVersion and kind unless it is `bare`: the same document as toJson gives. */
export function jsonText(kind: Named, bytes: Uint8Array, bare = false): string {
  try {
    const input = new WireInput(bytes, false);
    const members = writerOf(messageType(kind.message))(input, input.end);
    if (bare) return `{${members}}`;
    const head = `{"apiVersion":${JSON.stringify(kind.apiVersion)},"kind":${JSON.stringify(kind.kind)}`;
    return members === '' ? `${head}}` : `${head},${members}}`;
  } catch (error) {
    if (!(error instanceof NotPlain)) throw error;
    const { apiVersion, kind: name, ...members } = toJson(kind, decodeMessage(kind.message, bytes));
    return JSON.stringify(bare ? members : { apiVersion, kind: name, ...members });
  }
}

const writers = new WeakMap<Type, Writer>();

function writerOf(type: Type): Writer {
  let writer = writers.get(type);
  if (!writer) {
    writer = isOpen(nameOf(type)) ? compile(type, 'content') : compile(type);
    writers.set(type, writer);
  }
  return writer;
}

const nameOf = (type: Type): string => type.fullName.replace(/^\./, '');

/** The writer as a function of its own, with one variable for each field; `open` names a field that holds members. */
function compile(type: Type, open?: string): Writer {
  const fields = type.fieldsArray.map((field) => field.resolve());
  if (type.oneofsArray.some((oneof) => oneof.fieldsArray.length > 1)) return twice;
  const cases = fields.map((field, index) => caseOf(field, index, field.name === open));
  const parts = fields.map((field, index) => partOf(field, index, field.name === open));
  const text = `function write(input, end) {
    ${fields.map((_, index) => `let v${index} = "";`).join(' ')}
    while (input.at < end) {
      const tag = input.uint32();
      switch (tag) {
        ${cases.join('\n')}
        default: input.other(tag, end, known);
      }
    }
    input.leave(end);
    let out = "";
    ${parts.join('\n')}
    return out;
  }`;
  const values = fields.map((field) => writerOfValue(field, field.name === open));
  const known = new Set(fields.map(({ id }) => id));
  return new Function('values', 'known', 'twice', `"use strict"; return ${text};`)(values, known, twice) as Writer;
}

/** What is not read here: a message in two parts, for one. */
function twice(): never {
  throw new NotPlain();
}

function caseOf(field: Field, index: number, isOpenContent: boolean): string {
  const wire = wireOf(field);
  const value = `values[${index}](input, end)`;
  if (field.map) {
    return `case ${tagOf(field.id, LENGTH_DELIMITED)}: {
      const to = input.enter(end); let key = '""'; let value = ${JSON.stringify(emptyOf(field))};
      while (input.at < to) {
        const part = input.uint32();
        if (part === ${tagOf(1, LENGTH_DELIMITED)}) key = JSON.stringify(input.string(to));
        else if (part === ${tagOf(2, wire)}) value = values[${index}](input, to);
        else twice();
      }
      input.leave(to);
      v${index} += (v${index} === "" ? "" : ",") + key + ":" + value;
      break;
    }`;
  }
  if (!field.repeated) {
    const isMessage = field.resolvedType instanceof protobuf.Type || isOpenContent;
    return `case ${tagOf(field.id, wire)}: ${isMessage ? `if (v${index} !== "") twice();` : ''} v${index} = ${value}; break;`;
  }
  const add = (end: string): string => `v${index} += (v${index} === "" ? "" : ",") + values[${index}](input, ${end});`;
  if (wire === LENGTH_DELIMITED) return `case ${tagOf(field.id, wire)}: ${add('end')} break;`;
  return `case ${tagOf(field.id, wire)}: ${add('end')} break;
    case ${tagOf(field.id, LENGTH_DELIMITED)}: { const to = input.enter(end); while (input.at < to) ${add('to')} input.leave(to); break; }`;
}

/** What the field adds to the members. Of a field whose value says nothing there is no member. */
function partOf(field: Field, index: number, isOpenContent: boolean): string {
  const at = `v${index}`;
  const comma = `(out === "" ? "" : ",")`;
  const name = JSON.stringify(`${JSON.stringify(field.name)}:`);
  if (field.options?.[INLINE] || isOpenContent) return `if (${at} !== "" && ${at} !== " ") out += ${comma} + ${at};`;
  if (field.map) return `if (${at} !== "") out += ${comma} + ${name} + "{" + ${at} + "}";`;
  if (field.repeated) return `if (${at} !== "") out += ${comma} + ${name} + "[" + ${at} + "]";`;
  return `if (${at} !== "") out += ${comma} + ${name} + ${at};`;
}

const tagOf = (id: number, wire: number): number => ((id << 3) | wire) >>> 0;

const varints: ReadonlySet<string> = new Set(['bool', 'int32', 'uint32', 'int64']);

const wireOf = ({ type }: Field): number => (varints.has(type) ? VARINT : type === 'double' ? 1 : LENGTH_DELIMITED);

/** The value of a map's entry that leaves it out. */
const emptyOf = ({ type, resolvedType }: Field): string =>
  resolvedType?.name === 'ExtraValue'
    ? '[]'
    : type === 'bool'
      ? 'false'
      : varints.has(type) || type === 'double'
        ? '0'
        : type === 'string' || type === 'bytes'
          ? '""'
          : '{}';

function writerOfValue(field: Field, isOpenContent: boolean): Writer {
  const { resolvedType } = field;
  if (isOpenContent) return (input, end) => innerOf(rawText(input, end)) || ' ';
  if (resolvedType instanceof protobuf.Type) {
    const embedded: unknown = field.options?.[EMBEDDED_KIND];
    const single = messageValue(resolvedType, Boolean(field.options?.[MICRO_TIME]), Boolean(field.options?.[INLINE]));
    return typeof embedded === 'string' ? embeddedValue(single, embedded) : single;
  }
  if (field.type === 'bytes' && field.options?.[RAW_JSON]) return rawText;
  const scalar = scalarValues[field.type];
  return scalar ?? twice;
}

const scalarValues: Readonly<Record<string, Writer>> = {
  string: (input, end) => JSON.stringify(input.string(end)),
  bool: (input) => (input.bool() ? 'true' : 'false'),
  int32: (input) => String(input.int32()),
  uint32: (input) => String(input.uint32()),
  int64: (input) => String(input.int64()),
  bytes: (input, end) => `"${input.bytes(end).toString('base64')}"`,
  double(input, end) {
    const value = input.double(end);
    return Number.isFinite(value) ? String(value) : JSON.stringify(String(value));
  },
};

/** A JSON document that is carried as bytes, on one line. */
function rawText(input: WireInput, end: number): string {
  const text = input.bytes(end).toString('utf8');
  return text.includes('\n') || text.includes('\r') ? JSON.stringify(JSON.parse(text)) : text;
}

const innerOf = (object: string): string => object.trim().slice(1, -1).trim();

function embeddedValue(single: Writer, names: string): Writer {
  const [apiVersion = '', kind = ''] = names.split(' ');
  const head = `{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)}`;
  return (input, end) => {
    const object = single(input, end);
    return object === '{}' ? `${head}}` : `${head},${object.slice(1)}`;
  };
}

/** Messages that are one value in JSON, and all others. */
function messageValue(type: Type, isMicro: boolean, isInline: boolean): Writer {
  switch (nameOf(type)) {
    case 'google.protobuf.Timestamp':
      return timeValue(isMicro ? 6 : 0);
    case 'google.protobuf.Duration':
      return (input, end) => JSON.stringify(durationCodec.write(readPair(input, end) as Duration));
    case 'berth.meta.v1.Quantity':
      return (input, end) => readQuantity(input, end);
    case 'berth.meta.v1.IntOrString':
      return (input, end) => JSON.stringify(intOrStringCodec.write(readIntOrString(input, end)));
    case 'berth.meta.v1.FieldsV1':
    case 'berth.meta.v1.RawExtension':
      return readRaw;
    case 'berth.authentication.v1.ExtraValue':
    case 'berth.authorization.v1.ExtraValue':
    case 'berth.certificates.v1.ExtraValue':
      return readTexts;
    default:
  }
  let writer: Writer | undefined;
  if (isInline)
    return (input, end) => {
      writer ??= writerOf(type);
      return writer(input, input.enter(end)) || ' ';
    };
  return (input, end) => {
    writer ??= writerOf(type);
    return `{${writer(input, input.enter(end))}}`;
  };
}

/** The two numbers that times and durations are. */
function readPair(input: WireInput, end: number): { seconds: number; nanos: number } {
  const to = input.enter(end);
  const pair = { seconds: 0, nanos: 0 };
  while (input.at < to) {
    const tag = input.uint32();
    if (tag === tagOf(1, VARINT)) pair.seconds = input.int64();
    else if (tag === tagOf(2, VARINT)) pair.nanos = input.int32();
    else twice();
  }
  input.leave(to);
  return pair;
}

/** Times of one object, and of many in a list, are often the same second. */
function timeValue(digits: 0 | 6): Writer {
  let last = { seconds: Number.NaN, nanos: 0, text: '' };
  return (input, end) => {
    const { seconds, nanos } = readPair(input, end);
    if (seconds !== last.seconds || nanos !== last.nanos)
      last = { seconds, nanos, text: JSON.stringify(toRfc3339({ seconds, nanos }, digits)) };
    return last.text;
  };
}

function readQuantity(input: WireInput, end: number): string {
  const to = input.enter(end);
  let text = '"0"';
  while (input.at < to) {
    if (input.uint32() !== tagOf(1, LENGTH_DELIMITED)) twice();
    text = JSON.stringify(input.string(to));
  }
  input.leave(to);
  return text;
}

function readIntOrString(input: WireInput, end: number): IntOrString {
  const to = input.enter(end);
  const value: IntOrString = {};
  while (input.at < to) {
    const tag = input.uint32();
    if (tag === tagOf(1, VARINT)) value.type = input.int64();
    else if (tag === tagOf(2, VARINT)) value.intVal = input.int32();
    else if (tag === tagOf(3, LENGTH_DELIMITED)) value.strVal = input.string(to);
    else twice();
  }
  input.leave(to);
  return value;
}

/** FieldsV1 and RawExtension: the JSON object in their only member. */
function readRaw(input: WireInput, end: number): string {
  const to = input.enter(end);
  let text = '';
  while (input.at < to) {
    if (input.uint32() !== tagOf(1, LENGTH_DELIMITED)) twice();
    text = rawText(input, to);
  }
  input.leave(to);
  return text;
}

/** Kubernetes' ExtraValue: a list of texts. */
function readTexts(input: WireInput, end: number): string {
  const to = input.enter(end);
  const texts: string[] = [];
  while (input.at < to) {
    if (input.uint32() !== tagOf(1, LENGTH_DELIMITED)) twice();
    texts.push(JSON.stringify(input.string(to)));
  }
  input.leave(to);
  return `[${texts.join(',')}]`;
}
