import { describe, expect, it } from 'vitest';
import { createFrameSplitter } from './frames.ts';
import { createTerminalSplitter, createTimeFilter, gatherLog } from './log-times.ts';

const time = '2026-11-21T11:22:33.123456789Z ';

function frame(stream: 'stdout' | 'stderr', text: string): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream === 'stderr' ? 2 : 1;
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

/** In pieces of all sizes, since a piece may end anywhere. */
async function* pieces(data: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size);
}

const ofFrames = (source: AsyncIterable<Uint8Array>) =>
  gatherLog(source, { split: createFrameSplitter(), end: () => [] }, createTimeFilter());
const ofTerminal = (source: AsyncIterable<Uint8Array>) => gatherLog(source, createTerminalSplitter(), createTimeFilter());

async function read(source: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const data of source) parts.push(data);
  return Buffer.concat(parts).toString();
}

const sizes = [1, 7, 31, 1000, 100_000];
const long = 'x'.repeat(16 * 1024);

describe('the times of a log', () => {
  it.each(sizes)('stand once a line, though the engine cuts long lines (pieces of %i bytes)', async (size) => {
    const log = Buffer.concat([
      frame('stdout', `${time}short\n`),
      frame('stdout', `${time}${long}`),
      frame('stdout', `${time}${long}`),
      frame('stdout', `${time}end\n`),
      frame('stdout', `${time}next\n`),
    ]);
    const text = await read(ofFrames(pieces(log, size)));
    expect(text).toBe(`${time}short\n${time}${long}${long}end\n${time}next\n`);
  });

  it.each(sizes)('of one stream do not disturb the other (pieces of %i bytes)', async (size) => {
    const log = Buffer.concat([
      frame('stdout', `${time}${long}`),
      frame('stderr', `${time}problem\n`),
      frame('stdout', `${time}end\n`),
    ]);
    expect(await read(ofFrames(pieces(log, size)))).toBe(`${time}${long}${time}problem\nend\n`);
  });

  it.each(sizes)('of a terminal, which has no frames, too (pieces of %i bytes)', async (size) => {
    const log = Buffer.from(`${time}short\r\n${time}${long}${time}${long}${time}end\r\n${time}next`);
    const text = await read(ofTerminal(pieces(log, size)));
    expect(text).toBe(`${time}short\r\n${time}${long}${long}end\r\n${time}next`);
  });

  it('lets a terminal through that has no times where they are expected', async () => {
    const log = Buffer.from('no time here\nand-none-here-either-though-this-line-is-longer-than-a-time\n');
    expect(await read(ofTerminal(pieces(log, 5)))).toBe(log.toString());
  });
});

it('gives all lines of one read as one piece', async () => {
  const log = Buffer.concat(Array.from({ length: 500 }, (_, i) => frame(i % 2 ? 'stdout' : 'stderr', `${time}line ${i}\n`)));
  const sizesOf: number[] = [];
  for await (const piece of ofFrames(pieces(log, 8_192))) sizesOf.push(piece.length);
  expect(sizesOf).toHaveLength(Math.ceil(log.length / 8_192));
});
