// The few pieces of protobuf's wire format that let stored bytes pass through without being decoded.

export const VARINT = 0;
export const LENGTH_DELIMITED = 2;

/** Bytes that are no protobuf message. */
export class WireError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WireError';
  }
}

/** Walks the fields of one message. After `next()` answered true the members describe the field that it stopped at. */
export class WireReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  private at: number;
  number = 0;
  wire = 0;
  /** Where the field's tag starts. */
  tagStart = 0;
  /** Where its value starts (behind the length, for a length-delimited one). */
  valueStart = 0;
  valueEnd = 0;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
  }

  /** Steps to the next field; false at the end. Throws WireError where the bytes are damaged. */
  next(): boolean {
    if (this.at >= this.end) return false;
    this.tagStart = this.at;
    const tag = this.varint();
    this.number = Math.floor(tag / 8);
    this.wire = tag % 8;
    if (this.number === 0) throw new WireError('a field has the number 0');
    const length = this.wire === LENGTH_DELIMITED ? this.varint() : 0;
    this.valueStart = this.at;
    this.skip(length);
    if (this.at > this.end) throw new WireError('a field is longer than its message');
    this.valueEnd = this.at;
    return true;
  }

  value(): Uint8Array {
    return this.bytes.subarray(this.valueStart, this.valueEnd);
  }

  private skip(length: number): void {
    if (this.wire === LENGTH_DELIMITED) this.at += length;
    else if (this.wire === VARINT) this.varint();
    else if (this.wire === 1) this.at += 8;
    else if (this.wire === 5) this.at += 4;
    else throw new WireError(`a field has the unknown wire type ${this.wire}`);
  }

  private varint(): number {
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 10; i++) {
      if (this.at >= this.end) throw new WireError('a number is cut off');
      const byte = this.bytes[this.at++]!;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
    throw new WireError('a number is longer than 10 bytes');
  }
}

export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
  return size;
}

/** Writes a varint and answers the position behind it. */
export function writeVarint(out: Uint8Array, at: number, value: number): number {
  let rest = value;
  while (rest >= 128) {
    out[at++] = (rest % 128) + 128;
    rest = Math.floor(rest / 128);
  }
  out[at++] = rest;
  return at;
}

/** The size of a length-delimited field of a number below 16. */
export function fieldSize(length: number): number {
  return 1 + varintSize(length) + length;
}

/** Writes tag and length of a length-delimited field of a number below 16, and answers where its value goes. */
export function writeFieldHeader(out: Uint8Array, at: number, number: number, length: number): number {
  out[at] = number * 8 + LENGTH_DELIMITED;
  return writeVarint(out, at + 1, length);
}

/** One length-delimited field, whole. */
export function field(number: number, value: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(fieldSize(value.length));
  out.set(value, writeFieldHeader(out, 0, number, value.length));
  return out;
}
