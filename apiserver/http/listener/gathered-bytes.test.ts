import { PassThrough } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Arrivals } from '../../connections/arrivals.ts';
import type { HttpRequest, HttpResponse } from '../http-call.ts';
import { readBody } from '../requests/read-body.ts';
import { ByteReader } from '../streams/spdy/byte-reader.ts';
import { GatheredBytes } from './gathered-bytes.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('gives pieces of all sizes as one, in order', () => {
  const gathered = new GatheredBytes();
  const pieces = [1, 3, 20_000, 1, 50_000, 7].map((length, index) => Buffer.alloc(length, 97 + index));
  for (const piece of pieces) gathered.add(piece);
  expect(gathered.length).toBe(70_012);
  expect(gathered.take().equals(Buffer.concat(pieces))).toBe(true);
  expect([gathered.length, gathered.capacity]).toEqual([0, 0]);
});

it('copies nothing of bytes that come in one piece', () => {
  const gathered = new GatheredBytes();
  const piece = Buffer.from('{}');
  gathered.add(piece);
  expect(gathered.take()).toBe(piece);
});

it('holds bytes that come one by one in a block of twice their size at most', () => {
  const gathered = new GatheredBytes();
  for (let count = 0; count < 100_000; count++) gathered.add(Buffer.from('x'));
  expect(gathered.capacity).toBeLessThanOrEqual(200_000);
  expect(gathered.take().length).toBe(100_000);
});

describe('of 2,000 pieces of a byte that came, none is kept', () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  /** Gives pieces to `take`, one in a turn, and tells how many are still in memory. */
  async function countKept(take: (piece: Buffer) => void): Promise<number> {
    const memory: WeakRef<object>[] = [];
    for (let count = 0; count < 2_000; count++) {
      const piece = Buffer.from(new ArrayBuffer(1));
      memory.push(new WeakRef(piece.buffer));
      take(piece);
      await turn();
    }
    collectGarbage();
    return memory.filter((each) => each.deref() !== undefined).length;
  }

  it('by a body that is not whole', async () => {
    const request = Object.assign(new PassThrough(), { headers: { 'content-length': '4000' } });
    const response = { destroyed: false } as HttpResponse;
    const arrivals = { begin: () => () => {} } as unknown as Arrivals;
    const body = readBody({ request: request as unknown as HttpRequest, response, isUpgrade: false, arrivals });
    expect(await countKept((piece) => void request.write(piece))).toBeLessThan(20);
    request.end('!');
    expect((await body).length).toBe(2_001);
  });

  it('by a frame of SPDY that is not whole', async () => {
    const source = new PassThrough();
    const taken = new ByteReader(source).take(2_001);
    expect(await countKept((piece) => void source.write(piece))).toBeLessThan(20);
    source.end('!');
    expect((await taken)?.length).toBe(2_001);
  });
});
