import { once } from 'node:events';
import type { Writable } from 'node:stream';

const newline = 10;

/** Puts a prefix before every line of a log that comes in pieces. */
export class LinePrefix {
  readonly #prefix: Buffer;
  #atStart = true;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  add(data: Buffer): Buffer {
    if (this.#prefix.length === 0) return data;
    const parts: Buffer[] = [];
    for (let from = 0; from < data.length; ) {
      const end = data.indexOf(newline, from);
      const to = end < 0 ? data.length : end + 1;
      if (this.#atStart) parts.push(this.#prefix);
      parts.push(data.subarray(from, to));
      this.#atStart = end >= 0;
      from = to;
    }
    return Buffer.concat(parts);
  }
}

/** Writes no faster than the reader takes it. */
export async function writeAll(target: Writable, data: Uint8Array): Promise<void> {
  if (!target.write(data)) await once(target, 'drain');
}

/** Whether the next log would begin in the middle of a line. */
export function endsInLine(data: Buffer): boolean {
  return data.length > 0 && data[data.length - 1] !== newline;
}
