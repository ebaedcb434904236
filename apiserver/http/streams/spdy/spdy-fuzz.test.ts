import { Duplex, Writable } from 'node:stream';
import { constants, createDeflate, deflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { effort } from '../../../../test/chaos/effort.ts';
import { type Chance, createChance } from '../../../../test/chaos/random.ts';
import { usedMiB } from '../../../../test/fakes/used-memory.ts';
import { controlFrame, dataFrame, frameTypes, openFrame, pingFrame, resetFrame } from './frames.ts';
import { HeaderWriter, uint32 } from './header-blocks.ts';
import { headerDictionary } from './header-dictionary.ts';
import { readFrames } from './read-frames.ts';
import { SpdyConnection } from './spdy-connection.ts';
import { SpdyError } from './spdy-error.ts';

const inputs = effort(5_000, 100_000);
/** At a time: what hangs is found by their end. */
const together = 50;
const mostStreams = 8;
const maxGrowthMiB = 8;

/** Header blocks with more than one tells of: bombs, lies, and what is no compressed stream. */
function badBlock(chance: Chance): Buffer {
  const deflated = (bytes: Buffer): Buffer => deflateSync(bytes, { dictionary: headerDictionary });
  switch (chance.below(6)) {
    case 0:
      return deflated(Buffer.alloc(chance.pick([100, 20_000, 4_000_000])));
    case 1:
      return deflated(uint32(chance.pick([0, 1, 99, 101, 2 ** 31, 2 ** 32 - 1])));
    case 2:
      return deflated(Buffer.concat([uint32(1), uint32(chance.pick([0, 5, 2 ** 31, 2 ** 32 - 1])), Buffer.from('name')]));
    case 3:
      return deflateSync(Buffer.from('without the dictionary'));
    case 4:
      return Buffer.alloc(0);
    default:
      return bytesOf(chance, 1 + chance.below(200));
  }
}

const bytesOf = (chance: Chance, length: number): Buffer => Buffer.from(Array.from({ length }, () => chance.below(256)));

/** A frame as a client sends it, or nearly so. */
function frameOf(chance: Chance, headers: HeaderWriter): Buffer {
  const stream = chance.pick([0, 1, 1, 1, 3, 3, 5, 7, 2, 2 ** 31 - 1]);
  switch (chance.below(12)) {
    case 0:
    case 1:
    case 2: {
      const type = chance.pick(['stdin', 'stdout', 'error', 'data', 'x'.repeat(2_000), '']);
      return openFrame(stream, headers.write([['streamtype', type]]), chance.below(8) === 0);
    }
    case 3:
    case 4:
    case 5:
      return dataFrame(stream, Buffer.alloc(chance.pick([0, 1, 1_000, 70_000])), chance.below(6) === 0);
    case 6:
      return pingFrame(chance.below(2 ** 32));
    case 7:
      return resetFrame(stream, chance.below(12));
    case 8:
      return openFrame(stream, badBlock(chance));
    case 9:
      return controlFrame(
        chance.pick([...Object.values(frameTypes), 5, 10, 65_535]),
        chance.below(256),
        bytesOf(chance, chance.below(40)),
      );
    case 10:
      return controlFrame(frameTypes.headers, chance.below(2), uint32(stream), headers.write([]));
    default:
      return bytesOf(chance, chance.below(60));
  }
}

/** What one client sends: frames, some damaged, cut into pieces anywhere. */
function conversationOf(chance: Chance): Buffer[] {
  const headers = new HeaderWriter();
  let all = Buffer.concat(Array.from({ length: 1 + chance.below(12) }, () => frameOf(chance, headers)));
  if (chance.below(3) === 0 && all.length > 0) all[chance.below(all.length)] = chance.below(256);
  if (chance.below(5) === 0) all = all.subarray(0, chance.below(all.length + 1));
  const pieces: Buffer[] = [];
  while (all.length > 0 && pieces.length < 50) {
    const length = pieces.length === 49 ? all.length : 1 + chance.below(chance.pick([3, 100, 200_000]));
    pieces.push(all.subarray(0, length));
    all = all.subarray(length);
  }
  return pieces;
}

/** Runs a connection with this client until it ends; all that comes is read, and answered by its length. */
async function converse(chance: Chance): Promise<void> {
  const pieces = conversationOf(chance);
  const isDeaf = chance.below(10) === 0;
  const way = Duplex.from({
    readable: Duplex.from(pieces),
    writable: new Writable({ write: (_chunk, _, done) => void setImmediate(done) }),
  });
  const connection = new SpdyConnection(way, {
    mostStreams,
    accept: (stream) => () => {
      if (isDeaf) return;
      void (async () => {
        for await (const bytes of stream.input()) await stream.write(Buffer.from(String(bytes.length)));
        await stream.end();
      })().catch((error: unknown) => {
        if ((error as { code?: string }).code !== 'CANCELLED') throw error;
      });
    },
  });
  // A client that stops in the middle, and one whose bytes nothing takes, are gone at some time.
  if (isDeaf) setTimeout(() => way.destroy(), 20);
  await connection.run();
}

it(
  `${inputs} clients that send anything are all answered or ended: no crash, no hang, no growth`,
  async () => {
    const chance = createChance('spdy');
    const wave = (): Promise<unknown> => Promise.all(Array.from({ length: together }, () => converse(chance)));
    for (let count = 0; count < 1_000; count += together) await wave();
    const before = await usedMiB();
    for (let count = 0; count < inputs; count += together) await wave();
    expect((await usedMiB()) - before, 'growth in MiB').toBeLessThan(maxGrowthMiB);
  },
  effort(120_000, 3_600_000),
);

it(
  `${inputs} sequences of frames are read, or refused as no SPDY, and nothing else`,
  async () => {
    const chance = createChance('spdy frames');
    const tally = { whole: 0, refused: 0, frames: 0 };
    for (let count = 0; count < inputs; count++) {
      try {
        for await (const frame of readFrames(Duplex.from(conversationOf(chance)))) {
          tally.frames++;
          if (frame.of === 'data') expect(frame.bytes.length).toBeLessThanOrEqual(200_000);
        }
        tally.whole++;
      } catch (error) {
        expect(error).toBeInstanceOf(SpdyError);
        tally.refused++;
      }
    }
    // Some of each sort came to their end.
    expect(Math.min(tally.whole, tally.refused, tally.frames)).toBeGreaterThan(inputs / 50);
  },
  effort(120_000, 3_600_000),
);

it('thousands of streams of one client are refused beyond the bound, and cost no more', async () => {
  const deflate = createDeflate({ dictionary: headerDictionary });
  const frames: Buffer[] = [];
  for (let index = 0; index < 5_000; index++) {
    deflate.write(Buffer.concat([uint32(1), uint32(1), Buffer.from('a'), uint32(1), Buffer.from('b')]));
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    frames.push(openFrame(2 * index + 1, deflate.read() as Buffer));
  }
  let accepted = 0;
  let said = 0;
  const writable = new Writable({
    write(_chunk, _, done) {
      said++;
      done();
    },
  });
  const connection = new SpdyConnection(Duplex.from({ readable: Duplex.from(frames), writable }), {
    mostStreams,
    accept: () => () => void accepted++,
  });
  await connection.run();
  expect([accepted, said]).toEqual([mostStreams, 5_000]);
});
