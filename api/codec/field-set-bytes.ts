import protobuf, { type Field, type Type } from 'protobufjs';
import { type FieldSet, isEmptySet, SELF } from '../meta/field-set.ts';
import { declareSeen, seeOnce, wireOf, writeText } from './compiled-writes.ts';
import { type JsonCopy, notPlain } from './json-copy.ts';
import { INLINE, isJsonValue } from './json-fields.ts';
import type { JsonOutput } from './json-output.ts';
import { typeOfField } from './message-type.ts';
import { LENGTH_DELIMITED, tagOf } from './wire-format.ts';

// Sets of fields of encoded messages as the bytes of FieldsV1, without objects or strings in between: the same sets as
// fieldsOf gives, less what others own. Compiled for each message, as the writers of its JSON are (json-bytes.ts).

/** Writes the steps of the message that ends at `end`, each with a comma behind it. `taken` is left out. */
export type SetWriter = (input: JsonCopy, end: number, out: JsonOutput, taken: FieldSet | undefined) => void;

/** Writes the steps of one field, whose tag was read, and of those with the same tag behind it. */
type FieldWriter = SetWriter;

/** How a field is written: as it is, not at all, or in another way. */
type Choice = 'whole' | 'nothing' | FieldWriter;

const RAW_JSON = '(berth.meta.v1.raw_json)';
const [COLON, BRACE, END] = [0x3a, 0x7b, 0x7d];
const [KEY, VALUE] = [tagOf(1, LENGTH_DELIMITED), tagOf(2, LENGTH_DELIMITED)];

const writers = new WeakMap<Type, SetWriter>();

/** The writer of all fields of a message; throws NotPlain for what it does not read. */
function setWriter(type: Type): SetWriter {
  let writer = writers.get(type);
  if (!writer) {
    writer = compile(type, () => 'whole');
    writers.set(type, writer);
  }
  return writer;
}

/** A writer of some fields of a message. */
export const setWriterOf = (type: Type, choose: (field: Field) => Choice): SetWriter => compile(type, choose);

/** A field whose message has a writer of its own, and nothing where that writes nothing. */
export function partWriter(name: string, writer: SetWriter): FieldWriter {
  const head = headOf(name);
  return (input, end, out, taken) => {
    const start = out.size;
    out.ascii(head);
    out.put(BRACE);
    const begin = out.size;
    writer(input, input.enter(end), out, at(taken, `f:${name}`));
    if (out.size === begin) out.size = start;
    else endObject(out);
  };
}

const headOf = (name: string): string => `${JSON.stringify(`f:${name}`)}:`;

function endObject(out: JsonOutput): void {
  out.close(END);
  out.comma();
}

const at = (set: FieldSet | undefined, step: string): FieldSet | undefined =>
  set !== undefined && Object.hasOwn(set, step) ? set[step] : undefined;

/** Whether a set names a field itself. */
const names = (set: FieldSet | undefined): boolean => set !== undefined && (isEmptySet(set) || Object.hasOwn(set, SELF));

const isTaken = (taken: FieldSet, step: string): boolean => names(at(taken, step));

function compile(type: Type, choose: (field: Field) => Choice): SetWriter {
  if (type.oneofsArray.some((oneof) => oneof.fieldsArray.length > 1)) return notPlain;
  const fields = type.fieldsArray.map((field) => field.resolve() as Field);
  const below: (FieldWriter | undefined)[] = [];
  const cases = fields.map((field, index) => {
    const choice = choose(field);
    below[index] = choice === 'whole' ? writerOf(field) : choice === 'nothing' ? undefined : choice;
    return caseOf(field, index, below[index] ? 'below' : choice === 'nothing' ? 'pass' : 'leaf');
  });
  const text = `function write(input, end, out, taken) {
    ${declareSeen(fields.length)}
    while (input.at < end) {
      const tag = input.uint32();
      switch (tag) {
        ${cases.join('\n')}
        default: notPlain();
      }
    }
    input.leave(end);
  }`;
  return new Function('below', 'notPlain', 'isTaken', `"use strict"; return ${text};`)(below, notPlain, isTaken) as SetWriter;
}

function caseOf(field: Field, index: number, as: 'below' | 'pass' | 'leaf'): string {
  const wire = field.map ? LENGTH_DELIMITED : wireOf(field);
  const tag = tagOf(field.id, wire);
  if (as === 'below') return `case ${tag}: { ${seeOnce(index)} below[${index}](input, end, out, taken); break; }`;
  const step = JSON.stringify(`f:${field.name}`);
  const passed = (of: number): string => {
    const one = `input.pass(${of}, end);`;
    const isList = field.repeated || field.map;
    // A document has at least two characters, and tag and length before it; the field's own length comes before.
    const checked = isRaw(field) ? `const from = input.at; ${one} if (input.at - from < 5) notPlain();` : one;
    return isList ? `do { ${checked} } while (input.isNext(${tagOf(field.id, of)}, end));` : checked;
  };
  const written = as === 'leaf' ? `if (taken === undefined || !isTaken(taken, ${step})) { ${writeText(`${step}:{},`)} }` : '';
  const ofWire = (of: number): string => `case ${tagOf(field.id, of)}: { ${seeOnce(index)} ${passed(of)} ${written} break; }`;
  // Numbers of a list may come in one field.
  return field.repeated && wire !== LENGTH_DELIMITED ? `${ofWire(wire)}\n${ofWire(LENGTH_DELIMITED)}` : ofWire(wire);
}

/** JSON that is carried as bytes, which may be nothing at all. */
const isRaw = ({ options, resolvedType }: Field): boolean =>
  options?.[RAW_JSON] !== undefined || /\.(FieldsV1|RawExtension)$/.test(resolvedType?.fullName ?? '');

/** Undefined for a field that is a value. */
function writerOf(field: Field): FieldWriter | undefined {
  const { resolvedType, options = {} } = field;
  const below = resolvedType instanceof protobuf.Type ? resolvedType : undefined;
  if (options[INLINE] && below) {
    const write = lazyWriter(below);
    return (input, end, out, taken) => write(input, input.enter(end), out, taken);
  }
  const type = typeOfField(field);
  if (type.kind === 'map') return field.map ? mapWriter(field) : structWriter(field.name, below!);
  if (type.kind === 'listMap') {
    const items = type.item().kind === 'atomic' ? undefined : below;
    return groupWriter(field, itemKey(below!, type.keys, type.defaults), items);
  }
  if (type.kind === 'set') return field.type === 'string' ? groupWriter(field, textKey, undefined) : notPlain;
  return undefined;
}

/** Messages contain each other. */
function lazyWriter(type: Type): SetWriter {
  let writer: SetWriter | undefined;
  return (input, end, out, taken) => {
    writer ??= setWriter(type);
    writer(input, end, out, taken);
  };
}

/** A message with members of its own. */
function structWriter(name: string, type: Type): FieldWriter {
  const step = `f:${name}`;
  const head = headOf(name);
  const place = {};
  const write = lazyWriter(type);
  return (input, end, out, taken) => {
    const other = at(taken, step);
    const to = input.enter(end);
    const start = out.size;
    out.ascii(head);
    if (input.at === to) {
      if (names(other)) out.size = start;
      else out.ascii('{},');
      return;
    }
    const memory = other === undefined ? out.memory : undefined;
    if (memory?.recall(place, input, to, out)) {
      out.comma();
      return;
    }
    const from = input.at;
    const begin = out.size;
    out.put(BRACE);
    write(input, to, out, other);
    if (out.size === begin + 1) {
      // What has no members at all is a value.
      if (other === undefined) notPlain();
      out.size = start;
      return;
    }
    out.close(END);
    memory?.keep(place, input, from, begin, out);
    out.comma();
  };
}

/** Writes the step to the item that ends at `end`; leaves the input where its members begin. */
type KeyWriter = (input: JsonCopy, end: number, out: JsonOutput) => void;

/** Items, each with members or a value. */
function groupWriter(field: Field, writeKey: KeyWriter, items: Type | undefined): FieldWriter {
  const step = `f:${field.name}`;
  const head = headOf(field.name);
  const tag = tagOf(field.id, LENGTH_DELIMITED);
  const writeItem = items ? itemWriter(items) : writeValue;
  return (input, end, out, taken) => {
    const others = at(taken, step);
    const start = out.size;
    out.ascii(head);
    out.put(BRACE);
    const begin = out.size;
    const first = out.keysEnd;
    // What is taken does not stay in the output.
    let texts = others === undefined ? undefined : new Set<string>();
    do {
      const to = input.enter(end);
      const from = out.size;
      writeKey(input, to, out);
      texts = noteKey(out, first, from, texts);
      const other = others === undefined ? undefined : at(others, stepAt(out, from));
      if (!writeItem(input, to, out, other)) out.size = from;
    } while (input.isNext(tag, end));
    out.keysEnd = first;
    if (out.size === begin) out.size = start;
    else endObject(out);
  };
}

/** The step that was written last, from there. */
const stepAt = (out: JsonOutput, from: number): string => JSON.parse(out.bytes.toString(undefined, from, out.size - 1)) as string;

/** Keys of more items than this are compared as strings. */
const MOST_COMPARED = 12;

/**
 * Notes the step that was written last, from there: a group, whose keys begin at `first`, has none twice. Groups lie
 * within each other and share one list in the output, since a list for each would be a sixth of what a read of a small
 * object allocates. Gives the texts of the group's keys once there are many, or those that it got.
 */
function noteKey(out: JsonOutput, first: number, from: number, texts: Set<string> | undefined): Set<string> | undefined {
  const length = out.size - from;
  const { keys, keysEnd } = out;
  if (texts !== undefined || keysEnd - first >= 2 * MOST_COMPARED)
    return noteText(textAt(out, from, length), texts ?? textsOf(out, first));
  for (let i = first; i < keysEnd; i += 2) if (keys[i + 1] === length && isSame(out.bytes, keys[i]!, from, length)) notPlain();
  keys[keysEnd] = from;
  keys[keysEnd + 1] = length;
  out.keysEnd += 2;
  return undefined;
}

const textAt = (out: JsonOutput, from: number, length: number): string => out.bytes.toString('latin1', from, from + length);

function textsOf(out: JsonOutput, first: number): Set<string> {
  const texts = new Set<string>();
  for (let i = first; i < out.keysEnd; i += 2) texts.add(textAt(out, out.keys[i]!, out.keys[i + 1]!));
  return texts;
}

function noteText(text: string, texts: Set<string>): Set<string> {
  if (texts.has(text)) notPlain();
  return texts.add(text);
}

/** From the end, where keys often differ. */
function isSame(bytes: Uint8Array, a: number, b: number, length: number): boolean {
  for (let i = length - 1; i >= 0; i--) if (bytes[a + i] !== bytes[b + i]) return false;
  return true;
}

/** Writes what is below the step to an item that ends at `end`; false where nothing of it is left. */
type ItemWriter = (input: JsonCopy, end: number, out: JsonOutput, taken: FieldSet | undefined) => boolean;

const writeValue: ItemWriter = (input, end, out, taken) => {
  input.at = end;
  if (names(taken)) return false;
  out.ascii('{},');
  return true;
};

function itemWriter(type: Type): ItemWriter {
  const place = {};
  const write = lazyWriter(type);
  return (input, end, out, taken) => {
    const memory = taken === undefined ? out.memory : undefined;
    if (memory?.recall(place, input, end, out)) {
      out.comma();
      return true;
    }
    const from = input.at;
    const start = out.size;
    const isOther = names(taken);
    out.put(BRACE);
    const begin = out.size;
    if (!isOther) out.ascii('".":{},');
    const own = out.size;
    write(input, end, out, taken);
    if (out.size === own) {
      if (isOther) return false;
      out.size = begin;
    }
    out.close(END);
    memory?.keep(place, input, from, start, out);
    out.comma();
    return true;
  };
}

/** A map of the user's keys. */
function mapWriter(field: Field): FieldWriter {
  const { resolvedType } = field;
  const values = resolvedType instanceof protobuf.Type && !isJsonValue(resolvedType) ? resolvedType : undefined;
  const writeKey: KeyWriter = (input, end, out) => {
    if (!input.isNext(KEY, end)) notPlain();
    const start = out.size;
    // Over the quotation mark of the text that follows.
    out.ascii('"f');
    input.copyString(end);
    out.bytes[start + 2] = COLON;
    out.put(COLON);
    if (values && (!input.isNext(VALUE, end) || input.enter(end) !== end)) notPlain();
  };
  return groupWriter(field, writeKey, values);
}

const textKey: KeyWriter = (input, end, out) => {
  out.ascii('"v:');
  input.copyInnerText(end);
  out.ascii('":');
};

/** The step to an item of a list by its keys, as itemStep writes it. */
function itemKey(type: Type, keys: readonly string[], defaults: Readonly<Record<string, unknown>>): KeyWriter {
  const fields = keys.map((key) => type.fields[key]);
  if (!fields.every((field) => field && ['string', 'int32', 'uint32'].includes(field.type))) return notPlain;
  const index = new Map(fields.map((field, i) => [tagOf(field!.id, wireOf(field!)), i]));
  const heads = keys.map((key) => `${inner(key)}:`);
  const absent = keys.map((key) => (defaults[key] === undefined ? undefined : inner(defaults[key])));
  const starts = keys.map(() => 0);
  return (input, end, out) => {
    const from = input.at;
    starts.fill(-1);
    for (let left = keys.length; left > 0 && input.at < end; ) {
      const tag = input.uint32();
      const i = index.get(tag);
      if (i !== undefined) {
        starts[i] = input.at;
        left--;
      }
      input.pass(tag & 7, end);
    }
    out.ascii('"k:{');
    for (let i = 0; i < keys.length; i++) {
      if (starts[i]! < 0 && absent[i] === undefined) continue;
      out.ascii(heads[i]!);
      input.at = starts[i]!;
      if (starts[i]! < 0) out.ascii(absent[i]!);
      else if (fields[i]!.type === 'string') input.copyInnerText(input.enter(end));
      else out.integer(fields[i]!.type === 'int32' ? input.int32() : input.uint32());
      out.comma();
    }
    out.close(END);
    out.ascii('":');
    input.at = from;
  };
}

/** As JSON within a text of JSON. */
const inner = (value: unknown): string => JSON.stringify(JSON.stringify(value)).slice(1, -1);
