import protobuf, { type Field, type Type } from 'protobufjs';
import { declareSeen, seeOnce, wireOf, writeText } from './compiled-writes.ts';
import { messageType } from './descriptors.ts';
import { toJson } from './json.ts';
import { JsonCopy, NotPlain, notPlain } from './json-copy.ts';
import { INLINE } from './json-fields.ts';
import { type JsonOutput, writtenBytes } from './json-output.ts';
import { decodeMessage } from './message.ts';
import { isOpen, storedVersionField } from './open-message.ts';
import { LENGTH_DELIMITED, tagOf } from './wire-format.ts';

// Encoded objects as the bytes of their JSON, without objects or strings in between: a list of many is mostly this
// work. Compiled for each message, as its decoder is. Members come in the order of the encoded fields.

/** Writes the members of the message that ends at `end`, each with its comma, without braces. */
type MembersWriter = (input: JsonCopy, end: number, out: JsonOutput) => void;

const MICRO_TIME = '(berth.meta.v1.micro_time)';
const RAW_JSON = '(berth.meta.v1.raw_json)';
const EMBEDDED_KIND = '(berth.meta.v1.embedded_kind)';
const METADATA = 'berth.meta.v1.ObjectMeta';
const MANAGED_FIELDS = 'berth.meta.v1.ManagedFieldsEntry';

interface Named {
  readonly kind: string;
  readonly apiVersion: string;
  readonly message: string;
}

/** An encoded object as JSON, with apiVersion and kind unless it is `bare`: the same document as toJson gives. */
export const jsonBytes = (kind: Named, bytes: Uint8Array, bare = false): Buffer =>
  writtenBytes((out) => writeJson(kind, bytes, out, bare));

/** Writes the same behind what is there. */
export function writeJson(kind: Named, bytes: Uint8Array, out: JsonOutput, bare = false): void {
  const start = out.size;
  try {
    writePlainJson(kind, new JsonCopy(bytes, out), out, bare);
  } catch (error) {
    if (!(error instanceof NotPlain)) throw error;
    out.rewind(start);
    const { apiVersion, kind: name, ...members } = toJson(kind, decodeMessage(kind.message, bytes));
    out.json(JSON.stringify(bare ? members : { apiVersion, kind: name, ...members }));
  }
}

/** The same of bytes that are read here; throws NotPlain for others, with a part of it written. */
export function writePlainJson(kind: Named, input: JsonCopy, out: JsonOutput, bare: boolean): void {
  if (bare) out.put(0x7b);
  else out.json(headOf(kind));
  membersOf(messageType(kind.message))(input, input.end, out);
  out.close(0x7d);
}

const headOf = ({ apiVersion, kind }: Named): string =>
  `{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)},`;

const writers = new WeakMap<Type, MembersWriter>();

function membersOf(type: Type): MembersWriter {
  let writer = writers.get(type);
  if (!writer) {
    writer = compile(type, isOpen(nameOf(type)));
    writers.set(type, writer);
  }
  return writer;
}

const nameOf = (type: Type): string => type.fullName.replace(/^\./, '');

/** The writer as a function of its own; of an open message one field holds members, and one is not shown. */
function compile(type: Type, open: boolean): MembersWriter {
  if (type.oneofsArray.some((oneof) => oneof.fieldsArray.length > 1)) return notPlain;
  const fields = type.fieldsArray.map((field) => field.resolve());
  const text = `function write(input, end, out) {
    ${declareSeen(fields.length)}
    while (input.at < end) {
      const tag = input.uint32();
      switch (tag) {
        ${fields.map((field, index) => caseOf(field, index, open)).join('\n')}
        default: input.other(tag, end, known);
      }
    }
    input.leave(end);
  }`;
  const below = fields.map((field) => (messageBelow(field) ? objectOf(field) : undefined));
  const known = new Set(fields.map(({ id }) => id));
  return new Function('below', 'known', 'notPlain', `"use strict"; return ${text};`)(below, known, notPlain) as MembersWriter;
}

function caseOf(field: Field, index: number, open: boolean): string {
  const wire = wireOf(field);
  const tag = tagOf(field.id, field.map ? LENGTH_DELIMITED : wire);
  const once = seeOnce(index);
  if (open && field.name === storedVersionField) return `case ${tag}: { ${once} input.bytes(end); break; }`;
  if (open && field.name === 'content') return `case ${tag}: { ${once} input.copyMembers(end); break; }`;
  const { resolvedType } = field;
  if (field.options?.[INLINE] && resolvedType instanceof protobuf.Type)
    return `case ${tag}: { ${once} below[${index}](input, end, out); break; }`;
  const value = copyOf(field, index);
  const single = `case ${tag}: { ${once} ${writeText(`${JSON.stringify(field.name)}:`)} ${collected(field, tag, wire, value)} out.comma(); break; }`;
  return field.repeated && wire !== LENGTH_DELIMITED ? `${single}\n${packed(field, once, value)}` : single;
}

/** Numbers in one field, as our encoder writes a list of them. */
function packed(field: Field, once: string, value: (end: string) => string): string {
  return `case ${tagOf(field.id, LENGTH_DELIMITED)}: { ${once} ${writeText(`${JSON.stringify(field.name)}:`)}
      out.put(0x5b);
      const to = input.enter(end);
      if (input.at === to) notPlain();
      while (input.at < to) { ${value('to')} out.comma(); }
      input.leave(to);
      out.close(0x5d); out.comma(); break; }`;
}

/** The value of a field: one, or all in the order in which they come, which is one behind the other. */
function collected(field: Field, tag: number, wire: number, value: (end: string) => string): string {
  const mayBeEmpty = isRaw(field);
  if (field.map)
    return `out.put(0x7b);
      do {
        const to = input.enter(end);
        if (!input.isNext(${tagOf(1, LENGTH_DELIMITED)}, to)) notPlain();
        input.copyString(to); out.put(0x3a);
        if (!input.isNext(${tagOf(2, wire)}, to)) notPlain();
        ${value('to')} out.comma();
        if (input.at !== to) notPlain();
      } while (input.isNext(${tag}, end));
      out.close(0x7d);`;
  if (field.repeated)
    return `out.put(0x5b);
      do { ${mayBeEmpty ? 'const from = out.size;' : ''} ${value('end')} ${mayBeEmpty ? 'if (out.size === from) notPlain();' : ''} out.comma(); }
      while (input.isNext(${tag}, end));
      out.close(0x5d);`;
  if (mayBeEmpty) return `const from = out.size; ${value('end')} if (out.size === from) { out.size = before; break; }`;
  return value('end');
}

const scalars: Readonly<Record<string, string>> = {
  string: 'copyString',
  bool: 'copyBool',
  int32: 'copyInt32',
  uint32: 'copyUint32',
  int64: 'copyInt64',
  bytes: 'copyBytes',
  double: 'copyDouble',
};

/** Messages that are one value in JSON. */
const values: Readonly<Record<string, string>> = {
  'google.protobuf.Timestamp': 'copyTime',
  'google.protobuf.Duration': 'copyDuration',
  'berth.meta.v1.Quantity': 'copyQuantity',
  'berth.meta.v1.IntOrString': 'copyIntOrString',
  'berth.meta.v1.FieldsV1': 'copyRawMember',
  'berth.meta.v1.RawExtension': 'copyRawMember',
  'berth.authentication.v1.ExtraValue': 'copyTexts',
  'berth.authorization.v1.ExtraValue': 'copyTexts',
  'berth.certificates.v1.ExtraValue': 'copyTexts',
};

/** A field whose value may be nothing at all: JSON that is carried as bytes. */
const isRaw = (field: Field): boolean =>
  Boolean(field.type === 'bytes' && field.options?.[RAW_JSON]) ||
  (field.resolvedType instanceof protobuf.Type && values[nameOf(field.resolvedType)] === 'copyRawMember');

const messageBelow = ({ resolvedType }: Field): boolean =>
  resolvedType instanceof protobuf.Type && values[nameOf(resolvedType)] === undefined;

/** The call that copies one value of a field. */
function copyOf(field: Field, index: number): (end: string) => string {
  const method = methodOf(field);
  return (end) => (method === undefined ? `below[${index}](input, ${end}, out);` : `input.${method}(${end});`);
}

/** Undefined for a message that is an object in JSON. */
function methodOf(field: Field): string | undefined {
  const { resolvedType, options = {} } = field;
  if (resolvedType instanceof protobuf.Type) {
    const method = values[nameOf(resolvedType)];
    return method === 'copyTime' && options[MICRO_TIME] ? 'copyMicroTime' : method;
  }
  if (field.type === 'bytes' && options[RAW_JSON]) return 'copyRaw';
  const method = scalars[field.type];
  if (method === undefined) throw new Error(`there is no JSON of ${field.type} (${field.fullName}) here: add it`);
  return method;
}

/** A message as an object; of an inlined one only the members. */
function objectOf({ resolvedType, options = {} }: Field): MembersWriter {
  const type = resolvedType as Type;
  const embedded: unknown = options[EMBEDDED_KIND];
  const [apiVersion = '', kind = ''] = typeof embedded === 'string' ? embedded.split(' ') : [];
  const head = typeof embedded === 'string' ? headOf({ apiVersion, kind, message: '' }) : '{';
  let writer: MembersWriter | undefined;
  if (options[INLINE])
    return (input, end, out) => {
      writer ??= membersOf(type);
      writer(input, input.enter(end), out);
    };
  if (nameOf(type) === MANAGED_FIELDS)
    return (input, end, out) => {
      writer ??= membersOf(type);
      const to = input.enter(end);
      out.put(0x7b);
      writer(input, to, out);
      if (input.added?.end === to) input.added.write(input, out);
      out.close(0x7d);
    };
  const place = {};
  // What is added to an entry depends on more than the metadata.
  const isMetadata = nameOf(type) === METADATA;
  return (input, end, out) => {
    writer ??= membersOf(type);
    const to = input.enter(end);
    const memory = isMetadata && input.added ? undefined : out.memory;
    if (memory?.recall(place, input, to, out)) return;
    const from = input.at;
    const start = out.size;
    if (head === '{') out.put(0x7b);
    else out.ascii(head);
    writer(input, to, out);
    out.close(0x7d);
    memory?.keep(place, input, from, start, out);
  };
}
