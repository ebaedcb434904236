import type { Field } from 'protobufjs';
import { LENGTH_DELIMITED, VARINT } from './wire-format.ts';

// What the compiled writers of JSON and of sets of fields have in common.

/** Writes ASCII four bytes at once, with whatever follows it in the last four; `before` is where it begins. */
export function writeText(text: string): string {
  const bytes = Buffer.from(text);
  const words = Buffer.alloc(Math.ceil(bytes.length / 4) * 4);
  bytes.copy(words);
  const writes = Array.from(
    { length: words.length / 4 },
    (_, index) => `out.view.setUint32(before + ${4 * index}, ${words.readUInt32LE(4 * index)}, true);`,
  );
  return `out.room(${words.length}); const before = out.size; ${writes.join(' ')} out.size = before + ${bytes.length};`;
}

const varints: ReadonlySet<string> = new Set(['bool', 'int32', 'uint32', 'int64']);

/** The wire type of one value of a field, of a map's too. */
export const wireOf = ({ type }: Field): number => (varints.has(type) ? VARINT : type === 'double' ? 1 : LENGTH_DELIMITED);

/** Bits in one number that tells which fields have come. */
const BITS = 30;

/** Declares the numbers that tell which of so many fields have come. */
export const declareSeen = (count: number): string =>
  Array.from({ length: Math.ceil(count / BITS) }, (_, index) => `let s${index} = 0;`).join(' ');

/** Notes that a field has come, which it does once. */
export function seeOnce(index: number): string {
  const [word, bit] = [`s${Math.floor(index / BITS)}`, 1 << (index % BITS)];
  return `if (${word} & ${bit}) notPlain(); ${word} |= ${bit};`;
}
