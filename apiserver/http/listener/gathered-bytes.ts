/** Large enough that few copies are made of what comes in small pieces. In bytes. */
const firstBlock = 16 * 1024;

/**
 * Bytes that come in pieces, as one. Copied together: a client may send its bytes one by one, and each piece of its own
 * would take hundreds of times as much as it holds.
 */
export class GatheredBytes {
  #length = 0;
  /** The first piece, not copied: most have no other. */
  #bytes: Buffer = Buffer.alloc(0);

  get length(): number {
    return this.#length;
  }

  /** What is held in memory for them. */
  get capacity(): number {
    return this.#bytes.length;
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (this.#length === 0) this.#bytes = piece;
    else {
      if (length > this.#bytes.length) this.#grow(length);
      piece.copy(this.#bytes, this.#length);
    }
    this.#length = length;
  }

  /** All of them; nothing is held any more. */
  take(): Buffer {
    const all = this.#bytes;
    const length = this.#length;
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    // What is kept of them would keep the rest of the block.
    return length === all.length ? all : Buffer.from(all.subarray(0, length));
  }

  #grow(least: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(firstBlock, least, 2 * this.#bytes.length));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
