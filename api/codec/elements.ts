import { isJsonObject } from '../meta/merge-patch.ts';
import { type FieldShape, type MessageShape, messageShape } from './message-shapes.ts';
import { countJsonValues, isOpen } from './open-message.ts';
import { LENGTH_DELIMITED } from './wire-format.ts';
import { WireInput } from './wire-input.ts';
import { WireReader } from './wire-reader.ts';

/** What the walks need of a field: they pass over single scalars. */
interface Part {
  readonly isMap: boolean;
  readonly isNumber: boolean;
  /** The message that it holds, or that the map's values are. */
  child(): Parts | undefined;
}

interface Parts {
  readonly byNumber: ReadonlyMap<number, Part>;
  readonly byName: ReadonlyMap<string, Part>;
}

const known = new WeakMap<MessageShape, Parts>();
/** For `other`, which then passes over every field. */
const NONE: ReadonlySet<number> = new Set();
const MAP_VALUE = 2;
/** The field CustomObject.content. */
const CONTENT = 2;
const numbers: ReadonlySet<string> = new Set(['bool', 'int32', 'uint32', 'int64', 'double']);
/** A number in a list takes so much less memory than a message. */
const NUMBERS_AN_ELEMENT = 8;

/**
 * How many elements an encoded message has: messages, entries of maps and items of lists, at every depth. Decoded, each
 * takes some 60 to 120 bytes of memory, of however few bytes it is encoded. Decodes nothing. Throws WireError for bytes
 * that are damaged.
 */
export function countElements(messageName: string, bytes: Uint8Array): number {
  const count = countMessage(partsOf(messageShape(messageName)), new WireInput(bytes, false), bytes.length);
  return isOpen(messageName) ? count + countContent(bytes) : count;
}

/** Of an object of a kind that users added: see open-message.ts. */
function countContent(bytes: Uint8Array): number {
  const reader = new WireReader(bytes);
  let count = 0;
  while (reader.next())
    if (reader.number === CONTENT && reader.wire === LENGTH_DELIMITED) count += countJsonValues(reader.value());
  return count;
}

/** The same of a message in JSON form. What is of no field, or of a wrong type, counts as nothing. */
export function countJsonElements(messageName: string, json: unknown): number {
  const count = countJson(partsOf(messageShape(messageName)), json);
  return isOpen(messageName) && isJsonObject(json) ? count + countValues({ ...json, metadata: null }) : count;
}

function countValues(json: unknown): number {
  if (typeof json !== 'object' || json === null) return 0;
  let count = 1;
  for (const value of Array.isArray(json) ? json : Object.values(json)) count += 1 + countValues(value);
  return count;
}

function countMessage({ byNumber }: Parts, input: WireInput, end: number): number {
  let count = 0;
  while (input.at < end) {
    const tag = input.uint32();
    const part = byNumber.get(tag >>> 3);
    if (part === undefined) input.other(tag, end, NONE);
    else if ((tag & 7) === LENGTH_DELIMITED) count += countPart(part, input, end);
    else {
      count++;
      input.other(tag, end, NONE);
    }
  }
  input.leave(end);
  return count;
}

function countPart(part: Part, input: WireInput, end: number): number {
  const to = input.enter(end);
  const child = part.child();
  if (part.isMap) return 1 + countEntry(child, input, to);
  if (child) return 1 + countMessage(child, input, to);
  const length = to - input.at;
  input.at = to;
  return part.isNumber ? Math.ceil(length / NUMBERS_AN_ELEMENT) : 1;
}

function countEntry(value: Parts | undefined, input: WireInput, end: number): number {
  let count = 0;
  while (input.at < end) {
    const tag = input.uint32();
    if (value && tag === (MAP_VALUE << 3) + LENGTH_DELIMITED) count += 1 + countMessage(value, input, input.enter(end));
    else input.other(tag, end, NONE);
  }
  input.leave(end);
  return count;
}

function countJson({ byName }: Parts, json: unknown): number {
  if (!isJsonObject(json)) return 0;
  let count = 0;
  for (const key of Object.keys(json)) {
    const part = byName.get(key);
    if (part) count += countJsonPart(part, json[key]);
  }
  return count;
}

function countJsonPart(part: Part, json: unknown): number {
  const child = part.child();
  const values = part.isMap && isJsonObject(json) ? Object.values(json) : Array.isArray(json) ? json : undefined;
  if (!values) return child ? 1 + countJson(child, json) : 0;
  if (!child) return part.isNumber ? Math.ceil(values.length / NUMBERS_AN_ELEMENT) : values.length;
  let count = part.isMap ? 2 * values.length : values.length;
  for (const value of values) count += countJson(child, value);
  return count;
}

function partsOf(shape: MessageShape): Parts {
  const found = known.get(shape);
  if (found) return found;
  const byNumber = shape.fields.filter(isCounted).map((field): [number, Part] => [field.id, partOf(field)]);
  const parts = { byNumber: new Map(byNumber), byName: new Map(namesOf(shape)) };
  known.set(shape, parts);
  return parts;
}

/** As the JSON form names them: those of an inlined message stand in the message around it. */
function namesOf(shape: MessageShape): [string, Part][] {
  return shape.fields
    .filter(isCounted)
    .flatMap((field): [string, Part][] => (field.inline ? namesOf(field.message()!) : [[field.name, partOf(field)]]));
}

const isCounted = (field: FieldShape): boolean => field.repeated || field.keyType !== undefined || field.message() !== undefined;

function partOf(field: FieldShape): Part {
  const { keyType, type } = field;
  let child: Parts | undefined | 'unknown' = 'unknown';
  return {
    isMap: keyType !== undefined,
    isNumber: numbers.has(type),
    child() {
      if (child === 'unknown') {
        const shape = field.message();
        child = shape && partsOf(shape);
      }
      return child;
    },
  };
}
