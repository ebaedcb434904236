import { describe, expect, it } from 'vitest';
import { badRequest, unavailable } from '../../api/errors/index.ts';
import type { ExecOutput } from '../../client/index.ts';
import { outputOf } from './attach-from-start.ts';

async function show(session: AsyncIterable<ExecOutput>, isFromStart: boolean): Promise<string> {
  async function* log() {
    yield Buffer.from('log\n');
  }
  let all = '';
  for await (const { data } of outputOf({ output: () => session, isFromStart: () => isFromStart }, log)) all += data;
  return all;
}

async function* wrote(...texts: string[]): AsyncGenerator<ExecOutput> {
  for (const text of texts) yield { stream: 'stdout', data: Buffer.from(text) };
}

async function* fails(error: Error, ...texts: string[]): AsyncGenerator<ExecOutput> {
  yield* wrote(...texts);
  throw error;
}

describe('the output of a container since its start', () => {
  it('is the session, also when that is empty', async () => {
    expect(await show(wrote('a\n', 'a\n'), true)).toBe('a\na\n');
    expect(await show(wrote(), true)).toBe('');
    await expect(show(fails(unavailable('lost')), true)).rejects.toThrow('lost');
  });

  it('is the log when an agent of the version before has nothing, or does not join what has ended', async () => {
    expect(await show(wrote(''), false)).toBe('log\n');
    expect(await show(fails(badRequest('container "app" is not running')), false)).toBe('log\n');
    expect(await show(wrote('', '$ '), false)).toBe('$ ');
  });

  it('fails as the session does', async () => {
    await expect(show(fails(unavailable('lost')), false)).rejects.toThrow('lost');
    await expect(show(fails(badRequest('strange'), '$ '), false)).rejects.toThrow('strange');
  });
});
