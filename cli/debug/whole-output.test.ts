import { describe, expect, it } from 'vitest';
import type { ExecOutput } from '../../client/index.ts';
import { overlap, wholeOutput } from './whole-output.ts';

const stdout = (text: string): ExecOutput => ({ stream: 'stdout', data: Buffer.from(text) });

async function* logOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function show(
  session: AsyncIterable<ExecOutput>,
  log: string,
  { before = '', ended = async () => false } = {},
): Promise<string> {
  const started = { log: () => logOf(log), before: Buffer.from(before), ended };
  let all = '';
  for await (const { data } of wholeOutput(session, started)) all += data.toString();
  return all;
}

describe('all output of a container that was joined late', () => {
  it('comes from the log when the container had ended, also when the session was refused', async () => {
    async function* nothing(): AsyncGenerator<ExecOutput> {
      yield stdout('');
    }
    // biome-ignore lint/correctness/useYield: it fails before.
    async function* refused(): AsyncGenerator<ExecOutput> {
      throw new Error('not running');
    }
    expect(await show(nothing(), 'one\ntwo\n')).toBe('one\ntwo\n');
    expect(await show(refused(), 'one\ntwo\n', { ended: async () => true })).toBe('one\ntwo\n');
    let asked = 0;
    // The node knows first.
    expect(await show(refused(), 'one\n', { ended: async () => ++asked > 2 })).toBe('one\n');
    await expect(show(refused(), '')).rejects.toThrow('not running');
  });

  it('of one that goes on has every line once: of the log, then of the session', async () => {
    async function* lasting(): AsyncGenerator<ExecOutput> {
      yield stdout('');
      yield stdout('two\n$ ');
      await new Promise((resolve) => setTimeout(resolve, 600));
      yield stdout('three\n');
    }
    expect(await show(lasting(), 'one\ntwo\n')).toBe('one\ntwo\n$ three\n');
  });

  it('tells a line that came twice from one that is in both', () => {
    expect(overlap(Buffer.from('a\n'), Buffer.from('a\n'), 0)).toBe(2);
    expect(overlap(Buffer.from('a\n'), Buffer.from('a\n'), 2)).toBe(0);
    expect(overlap(Buffer.from('b\na\n'), Buffer.from('a\n$ '), 0)).toBe(2);
  });
});
