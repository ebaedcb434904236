import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import { createSession } from './session.ts';

function setup() {
  const calls: { readonly query: object; answer(error?: Error): void }[] = [];
  const call = ({ query }: { query: object }) =>
    new Promise<void>((resolve, reject) => {
      calls.push({ query, answer: (error) => (error ? reject(error) : resolve()) });
    });
  const session = createSession({
    engine: { call } as unknown as Engine,
    socket: new PassThrough() as never,
    action: 'test',
    tty: true,
    signal: new AbortController().signal,
    resizePath: '/resize',
  });
  return { calls, session };
}

describe('the size of a terminal', () => {
  it('is set one after the other, so that the last one wins, and what was overtaken is left out', async () => {
    const { calls, session } = setup();
    const all = [session.resize(132, 30), session.resize(132, 40), session.resize(132, 43)];
    await turn();
    expect(calls.map(({ query }) => query)).toEqual([{ w: 132, h: 30 }]);
    calls[0]!.answer();
    await turn();
    expect(calls.slice(1).map(({ query }) => query)).toEqual([{ w: 132, h: 43 }]);
    calls[1]!.answer();
    await Promise.all(all);
    const next = session.resize(80, 24);
    await turn();
    expect(calls.slice(2).map(({ query }) => query)).toEqual([{ w: 80, h: 24 }]);
    calls[2]!.answer();
    await next;
  });

  it('is tried again until the process has started', async () => {
    const { calls, session } = setup();
    const done = session.resize(80, 24);
    await turn();
    calls[0]!.answer(new RuntimeError('conflict', 'not started'));
    await expect.poll(() => calls.length).toBe(2);
    calls[1]!.answer();
    await done;
    expect(calls[1]!.query).toEqual({ w: 80, h: 24 });
  });
});
