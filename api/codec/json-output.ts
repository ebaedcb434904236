import type { JsonMemory } from './json-memory.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const HEX = Buffer.from('0123456789abcdef');

/** The short escapes of JSON, by the byte that they stand for. */
const shortEscapes = new Map([
  [QUOTE, QUOTE],
  [BACKSLASH, BACKSLASH],
  [0x08, 0x62],
  [0x09, 0x74],
  [0x0a, 0x6e],
  [0x0c, 0x66],
  [0x0d, 0x72],
]);

/** What a byte of a text takes at most: six characters for a control character. */
export const MOST_OF_A_BYTE = 6;
/** There is always room for so much punctuation behind what was reserved. */
const SPARE = 16;

/**
 * Where JSON is written as bytes, forward. Members and items end with a comma, which the end of their object or list
 * replaces: so no writer needs to know whether something stands before it.
 */
export class JsonOutput {
  bytes: Buffer;
  view: DataView;
  /** So much is written. */
  size = 0;
  /** Changes when something else is written where something stood. */
  generation = 0;
  /** Where the keys of the groups that are being written stand, and their lengths (field-set-bytes.ts). */
  readonly keys: number[] = [];
  /** So many of these numbers count. */
  keysEnd = 0;
  /** Set: what is equal to what was written before is copied from there. */
  readonly memory: JsonMemory | undefined;

  constructor(startBytes: number, memory?: JsonMemory) {
    this.memory = memory;
    this.bytes = Buffer.allocUnsafeSlow(startBytes);
    this.view = viewOf(this.bytes);
  }

  /** Makes room for so many bytes more. */
  room(count: number): void {
    if (this.size + count + SPARE > this.bytes.length) this.#grow(count);
  }

  /** Begins again at `size`. */
  rewind(size: number): void {
    this.size = size;
    this.keysEnd = 0;
    this.generation++;
  }

  /** Writes what stands there once more. */
  repeat(start: number, size: number): void {
    this.room(size);
    this.bytes.copyWithin(this.size, start, start + size);
    this.size += size;
  }

  /** What was written so far, as a copy. */
  copy(): Buffer {
    return Buffer.from(this.bytes.subarray(0, this.size));
  }

  /** One character of punctuation. */
  put(byte: number): void {
    if (this.size >= this.bytes.length) this.#grow(1);
    this.bytes[this.size++] = byte;
  }

  comma(): void {
    this.put(COMMA);
  }

  /** Ends an object or a list: in the place of the comma behind its last member, if there is one. */
  close(byte: number): void {
    if (this.bytes[this.size - 1] === COMMA) this.bytes[this.size - 1] = byte;
    else this.put(byte);
  }

  /** ASCII that needs no escapes. */
  ascii(text: string): void {
    this.room(text.length);
    const { bytes } = this;
    let at = this.size;
    for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
    this.size = at;
  }

  /** Text that is JSON already. */
  json(text: string): void {
    this.room(Buffer.byteLength(text));
    this.size += this.bytes.write(text, this.size);
  }

  integer(value: number): void {
    if (value < 0 || value >= 100_000) {
      this.ascii(String(value));
      return;
    }
    this.room(5);
    const digits = value < 10 ? 1 : value < 100 ? 2 : value < 1_000 ? 3 : value < 10_000 ? 4 : 5;
    let rest = value;
    for (let at = this.size + digits - 1; at >= this.size; at--) {
      const tens = (rest / 10) | 0;
      this.bytes[at] = 0x30 + rest - tens * 10;
      rest = tens;
    }
    this.size += digits;
  }

  /** Of a control character, a quotation mark or a backslash in a text; there must be room. */
  escape(byte: number): void {
    const { bytes } = this;
    const short = shortEscapes.get(byte);
    bytes[this.size++] = BACKSLASH;
    if (short !== undefined) {
      bytes[this.size++] = short;
      return;
    }
    this.size += bytes.write('u00', this.size, 'latin1');
    bytes[this.size++] = HEX[byte >> 4]!;
    bytes[this.size++] = HEX[byte & 15]!;
  }

  #grow(count: number): void {
    const next = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.size + count + SPARE));
    this.bytes.copy(next, 0, 0, this.size);
    this.bytes = next;
    this.view = viewOf(next);
  }
}

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const startBytes = 16 * 1024;
/** An output that grew beyond this for a large object is not kept. */
const keptBytes = 256 * 1024;
let free: JsonOutput | undefined;

/** What is written, as bytes of its own. */
export function writtenBytes(write: (out: JsonOutput) => void): Buffer {
  const out = free ?? new JsonOutput(startBytes);
  // It is taken while it is written.
  free = undefined;
  out.rewind(0);
  write(out);
  const bytes = out.copy();
  if (out.bytes.length <= keptBytes) free = out;
  return bytes;
}
