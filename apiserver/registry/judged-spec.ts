import { countElements } from '../../api/codec/elements.ts';
import { encodeMessage } from '../../api/codec/message.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { AnyObject } from './any-object.ts';

/** A spec that was admitted and found valid, and how it is stored: but for the text that is drawn for each object. */
export class JudgedSpec {
  readonly spec: object;
  readonly drawn: string | undefined;
  readonly #message: string;
  /** The field of the spec, encoded. */
  readonly #bytes: Buffer;
  /** Where the drawn text stands in it. */
  readonly #places: readonly number[];
  readonly #elements: number;

  private constructor(message: string, spec: object, drawn: string | undefined, bytes: Buffer) {
    this.spec = spec;
    this.drawn = drawn;
    this.#message = message;
    this.#bytes = bytes;
    this.#places = placesOf(bytes, drawn);
    this.#elements = countElements(message, bytes);
  }

  /** Undefined where the drawn text cannot be told from others in the encoded spec. */
  static of({ message }: Kind, { spec = {} }: AnyObject, drawn: string | undefined): JudgedSpec | undefined {
    const judged = new JudgedSpec(message, spec, drawn, encodeMessage(message, { spec }));
    if (drawn === undefined) return judged;
    const other = '#'.repeat(drawn.length);
    const otherBytes = encodeMessage(message, { spec: replaceText(spec, drawn, other) });
    return judged.encode({}, other).bytes.equals(otherBytes) ? judged : undefined;
  }

  /** An object of this spec with another drawn text, encoded, and how many elements it has. */
  encode({ metadata, status }: AnyObject, drawn: string | undefined): EncodedObject {
    const before = metadata ? encodeMessage(this.#message, { metadata }) : none;
    const after = status ? encodeMessage(this.#message, { status }) : none;
    const spec = this.#bytes;
    const bytes = Buffer.allocUnsafe(before.length + spec.length + after.length);
    bytes.set(before);
    bytes.set(spec, before.length);
    bytes.set(after, before.length + spec.length);
    if (drawn !== undefined && drawn !== this.drawn)
      for (const place of this.#places) bytes.write(drawn, before.length + place, 'latin1');
    return { bytes, elements: this.#elements + this.#count(before) + this.#count(after) };
  }

  #count(part: Buffer): number {
    return part.length === 0 ? 0 : countElements(this.#message, part);
  }
}

/** What one write stores. */
export interface EncodedObject {
  readonly bytes: Buffer;
  /** See `countElements`. */
  readonly elements: number;
}

const none = Buffer.alloc(0);

/** Whether a spec is the judged one, with its own drawn text wherever that has its own. */
export function sameButDrawn(judged: JudgedSpec, spec: object, drawn: string | undefined): boolean {
  if ((drawn === undefined) !== (judged.drawn === undefined) || drawn?.length !== judged.drawn?.length) return false;
  return isSame(judged.spec, spec, judged.drawn, drawn);
}

/** Compares what is not shared; a member that is undefined is another than one that is absent. */
function isSame(a: unknown, b: unknown, from: string | undefined, to: string | undefined): boolean {
  if (typeof a === 'string' && typeof b === 'string') return a === from || b === to ? a === from && b === to : a === b;
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!isSame(a[i], b[i], from, to)) return false;
    return true;
  }
  if (Array.isArray(b) || a instanceof Uint8Array || b instanceof Uint8Array) return false;
  let count = 0;
  for (const key in a) {
    count++;
    if (!Object.hasOwn(b, key) || !isSame(memberOf(a, key), memberOf(b, key), from, to)) return false;
  }
  for (const _ in b) count--;
  return count === 0;
}

const memberOf = (object: object, key: string): unknown => (object as Readonly<Record<string, unknown>>)[key];

function placesOf(bytes: Buffer, text: string | undefined): number[] {
  const places: number[] = [];
  if (text === undefined) return places;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length)) places.push(at);
  return places;
}

/** A copy with one text in place of another, wherever a value is that text. */
function replaceText(value: unknown, from: string, to: string): unknown {
  if (value === from) return to;
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((each) => replaceText(each, from, to));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaceText(each, from, to)]));
}
