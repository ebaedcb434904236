// Protobuf's wire format, as far as several parts write or judge it: https://protobuf.dev/programming-guides/encoding/

export const VARINT = 0;
export const LENGTH_DELIMITED = 2;

/** What stands before each value of a field: its number and its wire type. */
export const tagOf = (id: number, wire: number): number => ((id << 3) | wire) >>> 0;

/** Bytes that are no protobuf message. */
export class WireError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WireError';
  }
}

/** How many bytes a 32-bit number takes. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value >>> 7; rest !== 0; rest >>>= 7) size++;
  return size;
}

/** Writes a 32-bit number and returns the position behind it. */
export function writeVarint(out: Uint8Array, at: number, value: number): number {
  let rest = value >>> 0;
  for (; rest > 0x7f; rest >>>= 7) out[at++] = (rest & 0x7f) | 0x80;
  out[at++] = rest;
  return at;
}

/** The size of a length-delimited field of a number below 16. */
export function fieldSize(length: number): number {
  return 1 + varintSize(length) + length;
}

/** Writes tag and length of a length-delimited field of a number below 16, and returns where its value goes. */
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
