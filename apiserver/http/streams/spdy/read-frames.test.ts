import { Readable } from 'node:stream';
import { constants, createDeflate, deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { controlFrame, dataFrame, frameTypes, LAST, openFrame, pingFrame, replyFrame, resetFrame } from './frames.ts';
import { HeaderWriter, mostHeaderBytes, uint32 } from './header-blocks.ts';
import { headerDictionary } from './header-dictionary.ts';
import { mostControlBytes, readFrames, type SpdyFrame } from './read-frames.ts';
import { SpdyError } from './spdy-error.ts';

async function framesOf(...pieces: Buffer[]): Promise<SpdyFrame[]> {
  const frames: SpdyFrame[] = [];
  for await (const frame of readFrames(Readable.from(pieces))) frames.push(frame);
  return frames;
}

const block = (...pairs: [string, string][]): Buffer =>
  Buffer.concat([uint32(pairs.length), ...pairs.flat().flatMap((text) => [uint32(Buffer.byteLength(text)), Buffer.from(text)])]);

/** Header blocks as other implementations write them: one compressed stream. */
async function compressed(...blocks: Buffer[]): Promise<Buffer[]> {
  const deflate = createDeflate({ dictionary: headerDictionary, level: 9 });
  const written: Buffer[] = [];
  for (const each of blocks) {
    deflate.write(each);
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    written.push(deflate.read());
  }
  return written;
}

it('the dictionary is that of SPDY/3', () => {
  // The checksum stands in the head of a stream that was written with it.
  expect(headerDictionary.length).toBe(1_423);
  expect(deflateSync('', { dictionary: headerDictionary }).subarray(2, 6).toString('hex')).toBe('e3c6a7c2');
});

describe('frames', () => {
  it('are read whatever pieces they come in', async () => {
    const [first, second] = await compressed(
      block(['streamType', 'stdin']),
      block(['streamtype', 'stdout\0other'], ['port', '80']),
    );
    const bytes = Buffer.concat([
      openFrame(1, first!),
      openFrame(3, second!, true),
      controlFrame(frameTypes.settings, 0, uint32(0)),
      controlFrame(frameTypes.windowUpdate, 0, uint32(1), uint32(100)),
      controlFrame(0x70, 0, Buffer.from('unknown')),
      dataFrame(1, Buffer.from('hello')),
      dataFrame(1, Buffer.alloc(0), true),
      pingFrame(5),
      resetFrame(3, 5),
      controlFrame(frameTypes.goAway, 0, uint32(0), uint32(0)),
    ]);
    const expected = [
      { of: 'open', stream: 1, isLast: false, headers: new Map([['streamtype', 'stdin']]) },
      {
        of: 'open',
        stream: 3,
        isLast: true,
        headers: new Map([
          ['streamtype', 'stdout'],
          ['port', '80'],
        ]),
      },
      { of: 'data', stream: 1, isLast: false, bytes: Buffer.from('hello') },
      { of: 'data', stream: 1, isLast: true, bytes: Buffer.alloc(0) },
      { of: 'ping', id: 5 },
      { of: 'reset', stream: 3 },
      { of: 'goAway' },
    ];
    expect(await framesOf(bytes)).toEqual(expected);
    const single = await framesOf(...Array.from(bytes, (byte) => Buffer.from([byte])));
    const joined = Buffer.concat(single.map((frame) => (frame.of === 'data' ? frame.bytes : Buffer.alloc(0))));
    expect([single.filter((frame) => frame.of !== 'data').length, joined.toString()]).toEqual([5, 'hello']);
  });

  it('of data give their bytes as they come, however long they are, and the end with the last', async () => {
    const bytes = Buffer.alloc(300_000, 'x');
    const whole = dataFrame(7, bytes, true);
    const frames = await framesOf(whole.subarray(0, 100_000), whole.subarray(100_000, 200_000), whole.subarray(200_000));
    expect(frames.map((frame) => frame.of === 'data' && [frame.bytes.length, frame.isLast])).toEqual([
      [99_992, false],
      [100_000, false],
      [100_008, true],
    ]);
  });

  it('with headers that were written here are read, one after the other', async () => {
    const writer = new HeaderWriter();
    const blocks = [[], [['streamtype', 'data'] as const], []].map((headers) => writer.write(headers));
    const frames = await framesOf(...blocks.map((each, index) => replyFrame(index + 1, each)));
    expect(frames.map((frame) => 'headers' in frame && [...frame.headers])).toEqual([[], [['streamtype', 'data']], []]);
  });

  it('with headers keep their place in the compressed stream though nothing uses them', async () => {
    const [first, second] = await compressed(block(['a', 'b']), block(['streamtype', 'stdin']));
    const frames = await framesOf(controlFrame(frameTypes.headers, LAST, uint32(1), first!), openFrame(3, second!));
    expect(frames).toMatchObject([
      { of: 'data', stream: 1, isLast: true },
      { of: 'open', headers: new Map([['streamtype', 'stdin']]) },
    ]);
  });

  it.each<[string, () => Promise<Buffer> | Buffer, RegExp]>([
    ['of another version', () => Buffer.from([0x80, 2, 0, 6, 0, 0, 0, 4, 0, 0, 0, 1]), /version 2/],
    [
      'longer than any control frame',
      () => controlFrame(frameTypes.settings, 0, Buffer.alloc(mostControlBytes + 1)),
      /more than/,
    ],
    ['that end within their head', () => pingFrame(1).subarray(0, 5), /ends within a frame/],
    ['that end within their body', () => pingFrame(1).subarray(0, 9), /ends within a frame/],
    ['that end before their body', () => pingFrame(1).subarray(0, 8), /ends within a frame/],
    ['of data that end too soon', () => dataFrame(1, Buffer.from('abc')).subarray(0, 9), /ends within a frame/],
    ['of stream 0', () => dataFrame(0, Buffer.from('abc')), /stream 0/],
    ['too short for their type', () => controlFrame(frameTypes.reset, 0, uint32(1)), /too short/],
    ['without a header block', () => openFrame(1, Buffer.alloc(0)), /empty/],
    ['with a damaged header block', () => openFrame(1, Buffer.from('no compressed bytes')), /damaged/],
    ['with a short header block', async () => openFrame(1, (await compressed(uint32(2)))[0]!), /too short/],
    [
      'with a lying header block',
      async () => openFrame(1, (await compressed(block(['a', 'b']).fill(0xff, 4, 8)))[0]!),
      /too short/,
    ],
    [
      'with more headers than a stream is held for',
      async () => openFrame(1, (await compressed(block(['a', 'x'.repeat(2_048)])))[0]!),
      /more than 2048 bytes/,
    ],
    ['with many headers', async () => openFrame(1, (await compressed(uint32(2 ** 32 - 1)))[0]!), /more than/],
    ['behind the end of header blocks', () => Buffer.concat([ended(1), ended(3)]), /has ended|damaged/],
  ])('%s end the connection', async (_, make, message) => {
    const error = await framesOf(await make()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SpdyError);
    expect((error as Error).message).toMatch(message);
  });

  it('with a small header block that inflates to megabytes end the connection, and hold none of them', async () => {
    const [bomb] = await compressed(block(['a', 'x'.repeat(16 * 1024 * 1024)]));
    expect(bomb!.length).toBeLessThan(mostControlBytes);
    const before = process.memoryUsage().arrayBuffers;
    let highest = before;
    const looking = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage().arrayBuffers);
    }, 1);
    await expect(framesOf(openFrame(1, bomb!))).rejects.toThrow(`more than ${mostHeaderBytes} bytes`);
    clearInterval(looking);
    expect(highest - before).toBeLessThan(4 * 1024 * 1024);
  });
});

const ended = (stream: number): Buffer => openFrame(stream, deflateSync(block(['a', 'b']), { dictionary: headerDictionary }));
