import { ByteReader } from './byte-reader.ts';
import { frameTypes, LAST } from './frames.ts';
import { HeaderReader } from './header-blocks.ts';
import { SpdyError } from './spdy-error.ts';

type Headers = ReadonlyMap<string, string>;

/** What the other side says. Frames that change nothing here (settings, windows, unknown ones) are left out. */
export type SpdyFrame =
  | { readonly of: 'open' | 'reply'; readonly stream: number; readonly isLast: boolean; readonly headers: Headers }
  | { readonly of: 'data'; readonly stream: number; readonly isLast: boolean; readonly bytes: Buffer }
  | { readonly of: 'reset'; readonly stream: number }
  | { readonly of: 'ping'; readonly id: number }
  | { readonly of: 'goAway' };

/** In bytes. Frames of data may be larger: they are given in pieces. */
export const mostControlBytes = 32 * 1024;
const VERSION = 3;
const mostId = 0x7fff_ffff;

/**
 * The frames of one side of a connection, read no faster than they are taken. Throws SpdyError for what is no SPDY/3.1
 * or exceeds a bound, and what the source throws.
 */
export async function* readFrames(source: AsyncIterable<Buffer>): AsyncGenerator<SpdyFrame, void, undefined> {
  const bytes = new ByteReader(source);
  const headers = new HeaderReader();
  try {
    for (;;) {
      const head = await bytes.take(8);
      if (!head) return;
      const length = head.readUIntBE(5, 3);
      if ((head[0]! & 0x80) === 0) yield* readData(head, length, bytes);
      else {
        const frame = await readControl(head, length, bytes, headers);
        if (frame) yield frame;
      }
    }
  } finally {
    headers.close();
  }
}

async function* readData(head: Buffer, length: number, from: ByteReader): AsyncGenerator<SpdyFrame, void, undefined> {
  const stream = streamOf(head.readUInt32BE());
  const isLast = (head[4]! & LAST) !== 0;
  let left = length;
  while (left > 0) {
    const bytes = await from.some(left);
    if (!bytes) throw new SpdyError('the connection ends within a frame');
    left -= bytes.length;
    yield { of: 'data', stream, isLast: isLast && left === 0, bytes };
  }
  if (length === 0) yield { of: 'data', stream, isLast, bytes: Buffer.alloc(0) };
}

async function readControl(head: Buffer, length: number, from: ByteReader, blocks: HeaderReader): Promise<SpdyFrame | undefined> {
  const version = head.readUInt16BE() & 0x7fff;
  if (version !== VERSION) throw new SpdyError(`a frame is of version ${version}, not ${VERSION}`);
  if (length > mostControlBytes) throw new SpdyError(`a control frame has more than ${mostControlBytes} bytes`);
  const body = length === 0 ? Buffer.alloc(0) : await from.take(length);
  if (!body) throw new SpdyError('the connection ends within a frame');
  const type = head.readUInt16BE(2);
  const isLast = (head[4]! & LAST) !== 0;
  const read = (least: number): number => {
    if (body.length < least) throw new SpdyError(`a frame of type ${type} is too short`);
    return streamOf(body.readUInt32BE());
  };
  switch (type) {
    case frameTypes.open: {
      const stream = read(10);
      return { of: 'open', stream, isLast, headers: await blocks.read(body.subarray(10)) };
    }
    case frameTypes.reply: {
      const stream = read(4);
      return { of: 'reply', stream, isLast, headers: await blocks.read(body.subarray(4)) };
    }
    case frameTypes.headers: {
      const stream = read(4);
      // Nothing here uses them, but the stream of header blocks goes on with each.
      await blocks.read(body.subarray(4));
      return isLast ? { of: 'data', stream, isLast, bytes: Buffer.alloc(0) } : undefined;
    }
    case frameTypes.reset:
      return { of: 'reset', stream: read(8) };
    case frameTypes.ping: {
      if (body.length < 4) throw new SpdyError('a ping is too short');
      return { of: 'ping', id: body.readUInt32BE() };
    }
    case frameTypes.goAway:
      return { of: 'goAway' };
    default:
      return undefined;
  }
}

function streamOf(word: number): number {
  const id = word & mostId;
  if (id === 0) throw new SpdyError('stream 0 is none');
  return id;
}
