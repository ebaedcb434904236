import { expect, it } from 'vitest';
import { drawingOn, guardTerminal, withControls } from './terminal-guard.ts';

const hostile = 'a\u001b[2Jb\u009b31m\u202eevil\u2066\r\tc\n';

function openTerminal(isTTY: boolean) {
  const written: unknown[] = [];
  const terminal = { isTTY, columns: 80, write: (text: unknown) => written.push(text) > 0 };
  guardTerminal(terminal as never);
  guardTerminal(terminal as never);
  return { terminal, written };
}

it('makes control and direction characters of text visible on a terminal, once, and leaves lines and tabs', () => {
  const { terminal, written } = openTerminal(true);
  terminal.write(hostile);
  expect(written).toEqual(['a^[[2Jb<U+009B>31m<U+202E>evil<U+2066>^M\tc\n']);
});

it('leaves text exact where there is no terminal, and bytes everywhere', () => {
  const pipe = openTerminal(false);
  pipe.terminal.write(hostile);
  const { terminal, written } = openTerminal(true);
  terminal.write(Buffer.from(hostile));
  expect([...pipe.written, ...written]).toEqual([hostile, Buffer.from(hostile)]);
});

it('lets this program draw, and nothing after that', () => {
  const { terminal, written } = openTerminal(true);
  withControls(() => terminal.write('\u001b[K'));
  drawingOn(terminal as never).write('\u001b[3G');
  terminal.write('\u001b');
  expect(written).toEqual(['\u001b[K', '\u001b[3G', '^[']);
});
