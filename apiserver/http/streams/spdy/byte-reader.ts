import { SpdyError } from './spdy-error.ts';

/** Takes bytes from a source in pieces of wanted sizes. Holds what the source gave last, and what is wanted. */
export class ByteReader {
  readonly #source: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** So many bytes; undefined where the source ends before the first. Throws SpdyError where it ends within. */
  async take(count: number): Promise<Buffer | undefined> {
    const pieces: Buffer[] = [];
    let missing = count;
    while (missing > 0) {
      const piece = await this.some(missing);
      if (!piece && pieces.length === 0) return undefined;
      if (!piece) throw new SpdyError('the connection ends within a frame');
      pieces.push(piece);
      missing -= piece.length;
    }
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  /** At least one byte and at most so many; undefined at the end of the source. */
  async some(most: number): Promise<Buffer | undefined> {
    while (this.#held.length === 0) {
      const next = await this.#source.next();
      if (next.done) return undefined;
      this.#held = next.value;
    }
    const piece = this.#held.subarray(0, most);
    this.#held = this.#held.subarray(piece.length);
    return piece;
  }
}
