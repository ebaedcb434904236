import { expect, it } from 'vitest';
import { createProgress } from './progress.ts';

function terminal(isTTY: boolean, columns = 40) {
  const written: string[] = [];
  return { isTTY, columns, written, write: (text: string | Uint8Array) => written.push(String(text)) > 0 };
}

it('keeps one line on a terminal, no wider than that, and takes it away', () => {
  const screen = terminal(true, 24);
  const progress = createProgress(screen);
  progress.clear();
  progress.show('waiting');
  progress.show('waiting for something with a long name');
  progress.clear();
  progress.clear();
  expect(screen.written).toEqual(['\r\u001b[Kwaiting', '\r\u001b[Kwaiting for somethin...', '\r\u001b[K']);
});

it('prints nothing where standard error is no terminal', () => {
  const file = terminal(false);
  const progress = createProgress(file);
  progress.show('waiting');
  progress.clear();
  expect(file.written).toEqual([]);
});
