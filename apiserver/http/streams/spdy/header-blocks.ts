import { constants, createInflate, type Inflate } from 'node:zlib';
import { headerDictionary } from './header-dictionary.ts';
import { SpdyError } from './spdy-error.ts';

/** In bytes, inflated. Kubernetes' clients send about 80. They are held as long as their stream, one of many. */
export const mostHeaderBytes = 2 * 1024;
const mostHeaders = 100;
/** In bytes; output of the library is counted piece by piece. */
const pieceBytes = 4 * 1024;

/** Reads the header blocks of one connection: they are one compressed stream, so that each has to be read. */
export class HeaderReader {
  #inflate: Inflate | undefined;
  #pieces: Buffer[] = [];
  #length = 0;
  #fail: (error: Error) => void = () => {};

  /** Throws SpdyError for a block that is damaged, or larger than `mostHeaderBytes`. */
  async read(block: Buffer): Promise<ReadonlyMap<string, string>> {
    // An empty block changes nothing of the stream, and the library does not answer it.
    if (block.length === 0) throw new SpdyError('a header block is empty');
    this.#inflate ??= this.#create();
    const inflate = this.#inflate;
    this.#pieces = [];
    this.#length = 0;
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject;
      inflate.write(block, (error) => (error ? reject(new SpdyError('a header block is damaged')) : resolve()));
    });
    // Each piece is emitted as "data".
    while (inflate.read() !== null) if (this.#length > mostHeaderBytes) break;
    if (this.#length > mostHeaderBytes) throw new SpdyError(tooLarge);
    return headersOf(Buffer.concat(this.#pieces));
  }

  /** Frees what the library holds. */
  close(): void {
    this.#fail(new SpdyError('the connection is closed'));
    this.#inflate?.destroy();
  }

  #create(): Inflate {
    const inflate = createInflate({ dictionary: headerDictionary, chunkSize: pieceBytes, flush: constants.Z_SYNC_FLUSH });
    inflate.on('data', (piece: Buffer) => {
      this.#length += piece.length;
      if (this.#length <= mostHeaderBytes) this.#pieces.push(piece);
      else {
        this.#fail(new SpdyError(tooLarge));
        inflate.destroy();
      }
    });
    inflate.on('error', () => this.#fail(new SpdyError('a header block is damaged')));
    // The stream of all blocks never ends; what comes behind its end would wait forever.
    inflate.on('end', () => this.#fail(new SpdyError('the stream of header blocks has ended')));
    return inflate;
  }
}

const tooLarge = `a header block has more than ${mostHeaderBytes} bytes`;

/** Names in lower case; of several values the first. Throws SpdyError. */
function headersOf(block: Buffer): ReadonlyMap<string, string> {
  let at = 0;
  const number = (): number => {
    if (at + 4 > block.length) throw new SpdyError('a header block is too short');
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = number();
    if (at + length > block.length) throw new SpdyError('a header block is too short');
    at += length;
    return block.toString('utf8', at - length, at);
  };
  const headers = new Map<string, string>();
  const count = number();
  if (count > mostHeaders) throw new SpdyError(`a header block has more than ${mostHeaders} headers`);
  for (let index = 0; index < count; index++) {
    const name = text().toLowerCase();
    const value = text().split('\0', 1)[0]!;
    if (!headers.has(name)) headers.set(name, value);
  }
  return headers;
}

/** In bytes: what a stored block of the format holds. */
const mostStored = 65_535;
/** The head of a zlib stream with the dictionary, by its checksum. */
const streamHead = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);
/** An empty stored block: makes readers give what they have. */
const flushed = Buffer.from([0, 0, 0, 0xff, 0xff]);

/**
 * Writes the header blocks of one connection without compressing them: a compressor would hold 256 KiB for each
 * connection, and what a server says in headers is empty.
 */
export class HeaderWriter {
  #hasBegun = false;

  write(headers: Iterable<readonly [string, string]>): Buffer {
    const pairs = [...headers];
    const block = Buffer.concat([uint32(pairs.length), ...pairs.flat().flatMap(sized)]);
    if (block.length > mostStored) throw new RangeError('the headers are too large for one block');
    const stored = Buffer.alloc(5);
    stored.writeUInt16LE(block.length, 1);
    stored.writeUInt16LE(block.length ^ 0xffff, 3);
    const head = this.#hasBegun ? [] : [streamHead];
    this.#hasBegun = true;
    return Buffer.concat([...head, stored, block, flushed]);
  }
}

function sized(text: string): [Buffer, Buffer] {
  const bytes = Buffer.from(text, 'utf8');
  return [uint32(bytes.length), bytes];
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}
