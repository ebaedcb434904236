import type { Schema } from './definitions.ts';

// What gnostic's messages of both versions of OpenAPI are made of.

/** One field of a message: its number and what it holds. */
export function field(number: number, value: Uint8Array): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(value.length), value]);
}

export function varint(value: number): Buffer {
  if (value < 128) return Buffer.from([value]);
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) + 128);
  }
}

export const NOTHING = Buffer.alloc(0);
export const text = (number: number, value: unknown): Buffer =>
  typeof value === 'string' ? field(number, Buffer.from(value)) : NOTHING;
export const texts = (number: number, values: unknown): Buffer =>
  Buffer.concat((Array.isArray(values) ? values : []).map((value) => text(number, value)));
export const flag = (number: number, value: unknown): Buffer =>
  value === true ? Buffer.concat([varint(number * 8), varint(1)]) : NOTHING;
export const any = (value: unknown): Buffer => text(2, `${JSON.stringify(value)}\n`);
export const pair = (name: string, value: Uint8Array): Buffer => Buffer.concat([text(1, name), field(2, value)]);

export const extensions = (number: number, of: Schema): Buffer =>
  Buffer.concat(
    Object.entries(of).map(([name, value]) => (name.startsWith('x-') ? field(number, pair(name, any(value))) : NOTHING)),
  );

export const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value);
