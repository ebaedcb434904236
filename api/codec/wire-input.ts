import { isUtf8 } from 'node:buffer';
import { LENGTH_DELIMITED, VARINT, WireError } from './wire-format.ts';

/**
 * Where a decoder stands in encoded bytes. The compiled decoders (message-compiler.ts) read with it, forward,
 * each up to its message's end.
 */
export class WireInput {
  at = 0;
  readonly end: number;
  /** The decoder met a field that its message does not have. */
  hasUnknown = false;
  protected readonly buffer: Buffer;
  private readonly isStrict: boolean;

  /**
   * A strict one refuses values that would not be the same when they are read; the other takes what is nearest to them.
   */
  constructor(bytes: Uint8Array, isStrict: boolean, end = bytes.length) {
    this.isStrict = isStrict;
    this.buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = end;
  }

  /** The low 32 bits of a varint, unsigned. */
  uint32(): number {
    let byte = this.byte();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let shift = 7; shift < 35; shift += 7) {
      byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    // The upper half of a 64-bit number: of a negative int32, for one.
    for (let i = 0; i < 5; i++) if (this.byte() < 0x80) return value >>> 0;
    throw new WireError('a number is longer than 10 bytes');
  }

  int32(): number {
    return this.uint32() | 0;
  }

  int64(): number {
    const value = this.varint();
    if (Number.isSafeInteger(value)) return value;
    if (this.isStrict) throw new WireError('a 64-bit number is not within ±(2^53-1), which is what can be kept');
    return value < 0 ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER;
  }

  bool(): boolean {
    return this.varint() !== 0;
  }

  double(end: number): number {
    const at = this.skip(8, end);
    return this.buffer.readDoubleLE(at);
  }

  string(end: number): string {
    const length = this.uint32();
    const at = this.skip(length, end);
    if (length === 0) return '';
    const text = this.buffer.toString(undefined, at, this.at);
    if (this.isStrict && text.includes('\uFFFD') && !isUtf8(this.buffer.subarray(at, this.at)))
      throw new WireError('a text is not UTF-8');
    return text;
  }

  /** A copy, which does not keep the whole message in memory. */
  bytes(end: number): Buffer {
    const at = this.skip(this.uint32(), end);
    return Buffer.from(this.buffer.subarray(at, this.at));
  }

  /** Reads the length of a message inside another; gives its end. */
  enter(end: number): number {
    const length = this.uint32();
    if (length > end - this.at) cutOff();
    return this.at + length;
  }

  /** Passes over a field that the message does not have. Throws for one that it has, in another form. */
  other(tag: number, end: number, known: ReadonlySet<number>): void {
    const number = tag >>> 3;
    if (number === 0) throw new WireError('a field has the number 0');
    if (known.has(number)) throw new WireError(`the field ${number} has the wrong wire type ${tag & 7}`);
    this.hasUnknown = true;
    const wire = tag & 7;
    this.skipValue(wire, wire === LENGTH_DELIMITED ? this.uint32() : 0, end);
  }

  /** Passes over a value, of this length when it is length-delimited. */
  protected skipValue(wire: number, length: number, end = this.end): void {
    if (wire === LENGTH_DELIMITED) this.skip(length, end);
    else if (wire === VARINT) this.varint();
    else if (wire === 1) this.skip(8, end);
    else if (wire === 5) this.skip(4, end);
    else throw new WireError(`a field has the unknown wire type ${wire}`);
    if (this.at > end) cutOff();
  }

  /** Every message ends where its length says. */
  leave(end: number): void {
    if (this.at !== end) cutOff();
  }

  /** A 64-bit number, as near as a double comes to it. */
  private varint(): number {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.byte();
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift > 28) high |= bits << (shift - 32);
      else {
        low |= bits << 28;
        high = bits >>> 4;
      }
      if (byte < 0x80) return high * 0x1_0000_0000 + (low >>> 0);
    }
    throw new WireError('a number is longer than 10 bytes');
  }

  private byte(): number {
    return this.buffer[this.at++] ?? cutOff();
  }

  protected skip(length: number, end: number): number {
    const { at } = this;
    if (length > end - at) cutOff();
    this.at = at + length;
    return at;
  }
}

function cutOff(): never {
  throw new WireError('a field is longer than its message');
}
