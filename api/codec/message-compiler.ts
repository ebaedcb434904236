import type { FieldShape, MessageShape } from './message-shapes.ts';
import { LENGTH_DELIMITED, tagOf, VARINT } from './wire-format.ts';
import type { WireInput } from './wire-input.ts';
import type { WireOutput } from './wire-output.ts';

/** Reads the message that ends at `end`, on top of what came of it before. */
export type Decode = (input: WireInput, end: number, before?: object) => object;
/** Writes a message before what is written already. */
export type Encode = (message: object, output: WireOutput) => void;

/** The wire type of a scalar, and as source text the value of a map's entry that leaves it out. */
interface Form {
  readonly wire: number;
  readonly empty: string;
}

const FIXED64 = 1;

const scalars: Readonly<Record<string, Form>> = {
  bool: { wire: VARINT, empty: 'false' },
  int32: { wire: VARINT, empty: '0' },
  uint32: { wire: VARINT, empty: '0' },
  int64: { wire: VARINT, empty: '0' },
  double: { wire: FIXED64, empty: '0' },
  string: { wire: LENGTH_DELIMITED, empty: '""' },
  bytes: { wire: LENGTH_DELIMITED, empty: 'Buffer.alloc(0)' },
};

/** A map is a list of messages with these two fields. */
const KEY = 1;
const VALUE = 2;

/**
 * The decoder of a type as a function of its own: with the names of the fields in its text, V8 gives the objects that
 * it makes fixed shapes, which a loop over a table of names cannot. `childOf` gives the decoder of a type below it,
 * when it is first needed.
 */
export function compileDecoder(type: MessageShape, childOf: (type: MessageShape) => Decode): Decode {
  const { fields } = type;
  const body = `
    while (input.at < end) {
      const tag = input.uint32();
      switch (tag) {
        ${fields.map(decodeField).join('\n')}
        default: input.other(tag, end, known);
      }
    }
    input.leave(end);
    return message;`;
  return build(`function decode(input, end, message = {}) {${body}}`, {
    children: lazily(fields, childOf),
    known: new Set(fields.map(({ id }) => id)),
    entry: new Set([KEY, VALUE]),
    setEntry,
  });
}

/** The encoder of a type: its fields backwards, so that the first is written last. */
export function compileEncoder(type: MessageShape, childOf: (type: MessageShape) => Encode): Encode {
  const { fields } = type;
  const backwards = fields.map((field, index) => ({ field, index })).sort((a, b) => b.field.id - a.field.id);
  const body = backwards.map(
    ({ field, index }) => `
      value = message[${JSON.stringify(field.name)}];
      if (value !== undefined && value !== null) {${encodeField(field, index)}}`,
  );
  return build(`function encode(message, output) { let value; ${body.join('')} }`, { children: lazily(fields, childOf) });
}

function decodeField(field: FieldShape, index: number): string {
  const at = `message[${JSON.stringify(field.name)}]`;
  const value = decodeValue(field, index, 'end');
  const { wire } = formOf(field);
  if (field.keyType !== undefined) return decodeEntry(field, index, at);
  if (!field.repeated) {
    const merged = isScalar(field) ? value : `children[${index}](input, input.enter(end), ${at})`;
    return `case ${tagOf(field.id, wire)}: ${at} = ${merged}; ${forgetOthers(field)} break;`;
  }
  const single = `case ${tagOf(field.id, wire)}: (${at} ??= []).push(${value}); break;`;
  if (wire === LENGTH_DELIMITED) return single;
  // Numbers may come one by one or packed, whichever the encoder prefers.
  return `${single}
    case ${tagOf(field.id, LENGTH_DELIMITED)}: {
      const to = input.enter(end);
      const list = ${at} ??= [];
      while (input.at < to) list.push(${decodeValue(field, index, 'to')});
      input.leave(to);
      break;
    }`;
}

/** Of the members of a oneof the last counts. */
function forgetOthers(field: FieldShape): string {
  const all = field.rivals.map((name) => `message[${JSON.stringify(name)}]`);
  return all.map((at) => `if (${at} !== undefined) delete ${at};`).join(' ');
}

function decodeEntry(field: FieldShape, index: number, at: string): string {
  const { wire, empty } = formOf(field);
  if (field.keyType !== 'string') throw new Error(`the codec knows no maps by ${field.keyType} (${field.name}): add them`);
  return `case ${tagOf(field.id, LENGTH_DELIMITED)}: {
      const to = input.enter(end);
      let key = "";
      let value = ${empty};
      while (input.at < to) {
        const part = input.uint32();
        switch (part) {
          case ${tagOf(KEY, LENGTH_DELIMITED)}: key = input.string(to); break;
          case ${tagOf(VALUE, wire)}: value = ${decodeValue(field, index, 'to')}; break;
          default: input.other(part, to, entry);
        }
      }
      input.leave(to);
      setEntry(${at} ??= {}, key, value);
      break;
    }`;
}

function decodeValue(field: FieldShape, index: number, end: string): string {
  if (!isScalar(field)) return `children[${index}](input, input.enter(${end}))`;
  return `input.${field.type}(${end})`;
}

function encodeField(field: FieldShape, index: number): string {
  const { wire } = formOf(field);
  const all = (each: string): string => `for (let i = value.length - 1; i >= 0; i--) {${each}}`;
  if (field.keyType !== undefined)
    return `const keys = Object.keys(value);
      for (let i = keys.length - 1; i >= 0; i--) {
        const start = output.size;
        ${encodeValue(field, index, 'value[keys[i]]')} output.uint32(${tagOf(VALUE, wire)});
        output.string(keys[i]); output.uint32(${tagOf(KEY, LENGTH_DELIMITED)});
        output.uint32(output.size - start); output.uint32(${tagOf(field.id, LENGTH_DELIMITED)});
      }`;
  if (field.repeated && wire !== LENGTH_DELIMITED)
    return `if (value.length > 0) {
        const start = output.size;
        ${all(encodeValue(field, index, 'value[i]'))}
        output.uint32(output.size - start); output.uint32(${tagOf(field.id, LENGTH_DELIMITED)});
      }`;
  const end = `output.uint32(${tagOf(field.id, wire)});`;
  return field.repeated ? all(`${encodeValue(field, index, 'value[i]')} ${end}`) : `${encodeValue(field, index, 'value')} ${end}`;
}

function encodeValue(field: FieldShape, index: number, value: string): string {
  if (isScalar(field)) return `output.${field.type}(${value});`;
  return `{ const before = output.size; children[${index}](${value}, output); output.uint32(output.size - before); }`;
}

const formOf = ({ type }: FieldShape): Form => scalars[type] ?? { wire: LENGTH_DELIMITED, empty: '{}' };
const isScalar = ({ type }: FieldShape): boolean => scalars[type] !== undefined;

/** Compiles a function from its source text, which is made from descriptors alone; `sight` is its scope. */
function build<T>(text: string, sight: Readonly<Record<string, unknown>>): T {
  return new Function(...Object.keys(sight), `"use strict"; return ${text};`)(...Object.values(sight)) as T;
}

/** The functions of the types below, by the index of their field; each is made when it is first called. */
function lazily<T extends (...args: never[]) => unknown>(
  fields: readonly FieldShape[],
  of: (type: MessageShape) => T,
): (T | undefined)[] {
  const children: (T | undefined)[] = fields.map((field, index) => {
    if (isScalar(field)) return undefined;
    const first = (...args: Parameters<T>): unknown => {
      children[index] = of(field.message()!);
      return children[index](...args);
    };
    return first as T;
  });
  return children;
}

/** A key may have any name, also one that objects understand in their own way. */
function setEntry(map: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
  else map[key] = value;
}
