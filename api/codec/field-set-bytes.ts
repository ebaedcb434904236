import protobuf, { type Field, type Type } from 'protobufjs';
import { type FieldSet, isEmptySet, SELF } from '../meta/field-set.ts';
import { notPlain } from './json-copy.ts';
import { INLINE, isJsonValue } from './json-fields.ts';
import { typeOfField } from './message-type.ts';
import { LENGTH_DELIMITED } from './wire-format.ts';
import type { WireReader } from './wire-reader.ts';

// Sets of fields of encoded messages as the text of FieldsV1, without objects in between: the same sets as fieldsOf
// gives, less what others own.

const RAW_JSON = '(berth.meta.v1.raw_json)';
const [KEY, VALUE] = [1, 2];

/** Writes the steps of one field, and of those with its number behind it; leaves the reader at the next field. */
type Writer = (reader: WireReader, taken: FieldSet | undefined) => string;

/** Values shorter than this are written as fast as they are compared; longer ones than that are seldom the same. */
const [LEAST_KEPT, MOST_KEPT] = [24, 2 * 1024];
const SLOTS = 4;

/**
 * What was written of the last values of a field: objects that are made from one template have the same parts. Holds
 * copies, since a part would keep the bytes of its whole object in memory.
 */
class Memory {
  readonly #values: (Buffer | undefined)[] = new Array(SLOTS).fill(undefined);
  readonly #texts: string[] = new Array(SLOTS).fill('');
  #next = 0;

  /** What `write` gives for the value where a reader stands. */
  recall(reader: WireReader, write: () => string): string {
    const length = reader.valueEnd - reader.valueStart;
    if (length < LEAST_KEPT || length > MOST_KEPT) return write();
    for (let slot = 0; slot < SLOTS; slot++) {
      const value = this.#values[slot];
      if (value !== undefined && value.length === length && reader.isValue(value)) return this.#texts[slot]!;
    }
    const value = Buffer.from(reader.value());
    const text = write();
    this.#values[this.#next] = value;
    this.#texts[this.#next] = text;
    this.#next = (this.#next + 1) % SLOTS;
    return text;
  }
}

/** Passes over a field, and over those with its number behind it. */
type Advance = (reader: WireReader) => void;

/** The writers of a message's fields by their numbers. */
export type FieldWriters = ReadonlyMap<number, Writer>;

const known = new Map<string, FieldWriters>();

/** The writers of all fields of a message; throw NotPlain for what they do not read. */
export function fieldWriters(type: Type): FieldWriters {
  let writers = known.get(type.fullName);
  if (!writers) {
    const isPlain = !type.oneofsArray.some((oneof) => oneof.fieldsArray.length > 1);
    writers = new Map(isPlain ? type.fieldsArray.map((field) => [field.id, writerOf(field)]) : []);
    known.set(type.fullName, writers);
  }
  return writers;
}

/** Of these fields of a message, and of no others. */
export function someWriters(type: Type, names: readonly string[]): FieldWriters {
  return new Map(
    type.fieldsArray.map((field) => [field.id, names.includes(field.name) ? writerOf(field.resolve() as Field) : nothing]),
  );
}

/** A writer of a message's own fields. */
export const messageWriter = (name: string, writers: FieldWriters): Writer => {
  const step = stepOf(`f:${name}`);
  return (reader, taken) => {
    const below = membersOf(writers, reader.inner(), at(taken, `f:${name}`));
    reader.next();
    return below === '' ? '' : `${step}{${below.slice(0, -1)}},`;
  };
};

/** Writes nothing. */
export const nothing: Writer = (reader) => {
  passOver(reader);
  return '';
};

/** The steps of a message's fields, each with a comma behind it. `taken` is left out. */
export function membersOf(writers: FieldWriters, reader: WireReader, taken: FieldSet | undefined): string {
  let text = '';
  for (reader.next(); reader.number !== 0; ) text += (writers.get(reader.number) ?? notPlain)(reader, taken);
  return text;
}

const stepOf = (step: string): string => `${JSON.stringify(step)}:`;

const at = (set: FieldSet | undefined, step: string): FieldSet | undefined =>
  set !== undefined && Object.hasOwn(set, step) ? set[step] : undefined;

const names = (set: FieldSet | undefined): boolean => set !== undefined && (isEmptySet(set) || Object.hasOwn(set, SELF));

const passOver: Advance = (reader) => {
  const { number } = reader;
  while (reader.next() && reader.number === number);
};

function writerOf(field: Field): Writer {
  const { resolvedType, options = {} } = field.resolve();
  const below = resolvedType instanceof protobuf.Type ? resolvedType : undefined;
  if (options[INLINE] && below)
    return (reader, taken) => {
      const text = membersOf(fieldWriters(below), reader.inner(), taken);
      reader.next();
      return text;
    };
  const type = typeOfField(field);
  if (type.kind === 'map') return field.map ? keyedWriter(field) : structWriter(field.name, below!);
  if (type.kind === 'listMap') {
    const items = type.item().kind === 'atomic' ? undefined : below;
    return groupWriter(field.name, itemKey(below!, type.keys, type.defaults), items);
  }
  if (type.kind === 'set') return field.type === 'string' ? groupWriter(field.name, textKey, undefined) : notPlain;
  return leafWriter(field);
}

/** One value. JSON that is carried as bytes may be nothing at all. */
function leafWriter(field: Field): Writer {
  const [step, text] = [`f:${field.name}`, `${stepOf(`f:${field.name}`)}{},`];
  const isRaw = field.options?.[RAW_JSON] !== undefined || /\.(FieldsV1|RawExtension)$/.test(field.resolvedType?.fullName ?? '');
  return (reader, taken) => {
    // A document has at least two characters, and tag and length before it.
    if (isRaw && reader.valueEnd - reader.valueStart < 4) notPlain();
    passOver(reader);
    return names(at(taken, step)) ? '' : text;
  };
}

/** A message with members of its own. */
function structWriter(name: string, type: Type): Writer {
  const [step, leaf] = [`f:${name}`, `${stepOf(`f:${name}`)}{},`];
  const head = stepOf(step);
  const memory = new Memory();
  return (reader, taken) => {
    const other = at(taken, step);
    if (reader.valueStart === reader.valueEnd) {
      reader.next();
      return names(other) ? '' : leaf;
    }
    const write = (): string => membersOf(fieldWriters(type), reader.inner(), other);
    const below = other === undefined ? memory.recall(reader, write) : write();
    reader.next();
    if (below !== '') return `${head}{${below.slice(0, -1)}},`;
    // What has no members at all is a value.
    return other === undefined ? notPlain() : '';
  };
}

/** What tells the items of a list or the entries of a map apart: the step to the one where a reader stands. */
type KeyOf = (reader: WireReader) => string;

/** Items, each with members or a value. */
function groupWriter(
  name: string,
  keyOf: KeyOf,
  items: Type | undefined,
  membersAt: (reader: WireReader) => WireReader = inner,
): Writer {
  const step = `f:${name}`;
  const head = stepOf(step);
  // Values by themselves are written fast, and may be secret.
  const memory = items && new Memory();
  return (reader, taken) => {
    const others = at(taken, step);
    const { number } = reader;
    let text = '';
    let [first, seen]: [string | undefined, Set<string> | undefined] = [undefined, undefined];
    do {
      const key = keyOf(reader);
      if (first === undefined) first = key;
      else {
        seen ??= new Set([first]);
        if (seen.has(key)) notPlain();
        seen.add(key);
      }
      const other = at(others, key);
      const write = (): string => itemText(key, items ? membersOf(fieldWriters(items), membersAt(reader), other) : '', other);
      text += memory && other === undefined ? memory.recall(reader, write) : write();
    } while (reader.next() && reader.number === number);
    return text === '' ? '' : `${head}{${text.slice(0, -1)}},`;
  };
}

function itemText(key: string, below: string, other: FieldSet | undefined): string {
  const self = names(other) ? '' : below === '' ? '{}' : '".":{},';
  if (below !== '') return `${stepOf(key)}{${self}${below.slice(0, -1)}},`;
  return self === '' ? '' : `${stepOf(key)}${self},`;
}

const inner = (reader: WireReader): WireReader => reader.inner();

/** A map of the user's keys. */
function keyedWriter(field: Field): Writer {
  const { resolvedType } = field;
  const values = resolvedType instanceof protobuf.Type && !isJsonValue(resolvedType) ? resolvedType : undefined;
  const keyOf: KeyOf = (reader) => {
    const entry = reader.inner();
    return entry.next() && entry.number === KEY ? `f:${textOf(entry)}` : notPlain();
  };
  return groupWriter(field.name, keyOf, values, (reader) => {
    const entry = reader.inner();
    entry.next();
    return entry.next() && entry.number === VALUE ? entry.inner() : notPlain();
  });
}

const textOf = (reader: WireReader): string => (reader.value() as Buffer).toString();

const textKey: KeyOf = (reader) => `v:${JSON.stringify(textOf(reader))}`;

/** The step to an item of a list by its keys, as itemStep writes it. */
function itemKey(type: Type, keys: readonly string[], defaults: Readonly<Record<string, unknown>>): KeyOf {
  const fields = keys.map((key) => type.fields[key]);
  if (!fields.every((field) => field && ['string', 'int32', 'uint32'].includes(field.type))) return notPlain;
  const index = new Map(fields.map((field, i) => [field!.id, i]));
  const heads = keys.map((key) => stepOf(key));
  return (reader) => {
    const values: unknown[] = keys.map((key) => defaults[key]);
    const item = reader.inner();
    while (item.next()) {
      const i = index.get(item.number);
      if (i !== undefined) values[i] = item.wire === LENGTH_DELIMITED ? textOf(item) : signed(fields[i]!, item.number32());
    }
    let text = '';
    for (let i = 0; i < keys.length; i++)
      if (values[i] !== undefined) text += `${text === '' ? '' : ','}${heads[i]}${JSON.stringify(values[i])}`;
    return `k:{${text}}`;
  };
}

const signed = ({ type }: Field, value: number): number => (type === 'int32' ? value | 0 : value);
