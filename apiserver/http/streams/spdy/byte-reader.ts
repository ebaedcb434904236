import { GatheredBytes } from '../../listener/gathered-bytes.ts';
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
    const gathered = new GatheredBytes();
    while (gathered.length < count) {
      const piece = await this.some(count - gathered.length);
      if (!piece && gathered.length === 0) return undefined;
      if (!piece) throw new SpdyError('the connection ends within a frame');
      gathered.add(piece);
    }
    return gathered.take();
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
