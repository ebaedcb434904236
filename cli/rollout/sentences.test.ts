import { expect, it } from 'vitest';
import type { Terminal } from '../terminal/progress.ts';
import { createSentences } from './sentences.ts';

function run(isTTY: boolean): { out: string; err: string } {
  const written = { out: '', err: '' };
  const stream = (name: 'out' | 'err'): Terminal => {
    const write = (text: string): boolean => {
      written[name] += text;
      return true;
    };
    return { isTTY, columns: 80, write } as unknown as Terminal;
  };
  const sentences = createSentences(stream('out'), stream('err'));
  sentences.show({ text: '1 of 3', done: false });
  sentences.show({ text: '1 of 3', done: false });
  sentences.warn('a pod crashes');
  sentences.show({ text: '2 of 3', done: false });
  sentences.show({ text: 'rolled out', done: true });
  sentences.end();
  return written;
}

it('prints each sentence once in a pipe, and warnings beside them', () =>
  expect(run(false)).toEqual({ out: '1 of 3\n2 of 3\nrolled out\n', err: 'warning: a pod crashes\n' }));

it('shows one line that changes on a terminal, and the end below it', () => {
  const clear = '\r\u001b[K';
  expect(run(true)).toEqual({
    out: 'rolled out\n',
    err: `${clear}1 of 3${clear}warning: a pod crashes\n${clear}1 of 3${clear}2 of 3${clear}`,
  });
});
