import { type Duplex, PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { behind } from './attach-from-start.ts';
import { createEarlyOutputs, type EarlyOutputs, maxHeld, maxHeldBytes, maxUnseen } from './early-output.ts';
import type { Engine } from './engine.ts';
import type { OutputChunk } from './frames.ts';

const startsNow = async () => ({ startedAt: new Date() });
let sockets: Map<string, PassThrough>;
let early: EarlyOutputs;

beforeEach(() => {
  sockets = new Map();
  const hijack: Engine['hijack'] = async ({ path }) => {
    const socket = new PassThrough();
    sockets.set(path.split('/')[2] ?? '', socket);
    return socket;
  };
  early = createEarlyOutputs({ hijack });
});

/** A turn of the event loop, in which streams pass on what they have. */
const turn = () => new Promise((resolve) => setImmediate(resolve));
const text = async (socket: Duplex | undefined) => String(await buffer(socket ?? new PassThrough().end('none')));

describe('early output', () => {
  it('is all that the container writes, before and after a session takes it', async () => {
    await early.whileStarting('a', async () => {
      sockets.get('a')?.write('same\n');
      await turn();
      sockets.get('a')?.write('same\n');
      return startsNow();
    });
    const taken = early.take('a');
    sockets.get('a')?.end('same\n$ ');
    expect(await text(taken)).toBe('same\nsame\nsame\n$ ');
    expect(early.take('a')).toBeUndefined();
  });

  it('that ends in the moment when it is taken is whole', async () => {
    await early.whileStarting('a', startsNow);
    sockets.get('a')?.end('last\n');
    expect(await text(early.take('a'))).toBe('last\n');
  });

  it('is left to the log when the container has ended, or has written too much', async () => {
    await early.whileStarting('ended', startsNow);
    sockets.get('ended')?.end('over\n');
    await early.whileStarting('busy', startsNow);
    sockets.get('busy')?.write(Buffer.alloc(maxHeldBytes));
    await turn();
    sockets.get('busy')?.write('x');
    await turn();
    expect([early.take('ended'), early.take('busy')]).toEqual([undefined, undefined]);
    expect([...sockets.values()].map(({ destroyed }) => destroyed)).toEqual([true, true]);
  });

  it('is dropped when the container did not start, or had been started before it was joined', async () => {
    await expect(early.whileStarting('failed', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await early.whileStarting('not', async () => ({ startedAt: undefined }));
    await early.whileStarting('earlier', async () => ({ startedAt: new Date(Date.now() - 1_000) }));
    expect(['failed', 'not', 'earlier'].map((id) => early.take(id))).toEqual([undefined, undefined, undefined]);
    expect([...sockets.values()].every(({ destroyed }) => destroyed)).toBe(true);
  });

  it('is kept for the newest containers only, and for none when the agent ends', async () => {
    for (let nth = 0; nth <= maxHeld; nth++) await early.whileStarting(`c${nth}`, startsNow);
    expect([sockets.get('c0')?.destroyed, sockets.get('c1')?.destroyed]).toEqual([true, false]);
    early.close();
    expect([...sockets.values()].every(({ destroyed }) => destroyed)).toBe(true);
  });

  it('is unseen until it is taken, also when it is left to the log', async () => {
    await early.whileStarting('a', startsNow);
    sockets.get('a')?.end('over\n');
    await turn();
    expect([early.isUnseen('a'), early.isUnseen('other')]).toEqual([true, false]);
    expect(early.take('a')).toBeUndefined();
    expect(early.isUnseen('a')).toBe(false);
    // A session may come before the engine has answered.
    await early.whileStarting('quick', async () => {
      early.take('quick');
      return startsNow();
    });
    expect(early.isUnseen('quick')).toBe(false);
  });

  it('of one that did not start, or had been started before, is not known to be unseen', async () => {
    await expect(early.whileStarting('failed', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await early.whileStarting('earlier', async () => ({ startedAt: new Date(Date.now() - 1_000) }));
    expect(['failed', 'earlier'].map(early.isUnseen)).toEqual([false, false]);
  });

  it('is known to be unseen of the newest containers only', async () => {
    for (let nth = 0; nth <= maxUnseen; nth++) await early.whileStarting(`c${nth}`, startsNow);
    expect(['c0', 'c1', `c${maxUnseen}`].map(early.isUnseen)).toEqual([false, true, true]);
  });

  it('that cannot be joined keeps no container from starting', async () => {
    const refused = createEarlyOutputs({ hijack: () => Promise.reject(new Error('no')) });
    expect(await refused.whileStarting('a', startsNow)).toHaveProperty('startedAt');
    expect(refused.isUnseen('a')).toBe(true);
    expect(refused.take('a')).toBeUndefined();
  });
});

it('what follows so many bytes of each stream of a log', async () => {
  async function* log(): AsyncGenerator<Pick<OutputChunk, 'stream' | 'data'>> {
    for (const [stream, line] of [
      ['stdout', 'same\n'],
      ['stderr', 'same\n'],
      ['stdout', 'same\n'],
      ['stdout', 'end\n'],
    ] as const)
      yield { stream, data: Buffer.from(line) };
  }
  const rest: string[] = [];
  for await (const { stream, data } of behind(log(), { stdout: 7, stderr: 5 })) rest.push(`${stream} ${data}`);
  expect(rest).toEqual(['stdout me\n', 'stdout end\n']);
});
