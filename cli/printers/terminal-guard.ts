import { Writable } from 'node:stream';
import { visibleLines } from './visible.ts';

type Terminal = Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'>;

const guarded = new WeakSet<Terminal>();
let ownWrites = 0;

/**
 * From now on control and direction characters in text that is written to this terminal become visible: most of it
 * comes from objects that others wrote, whatever its form (YAML, JSON, jsonpath, messages). Bytes pass as they are:
 * logs, and what programs in containers write. A stream that is no terminal stays exact.
 */
export function guardTerminal(terminal: Terminal): void {
  if (!terminal.isTTY || guarded.has(terminal)) return;
  guarded.add(terminal);
  const write = terminal.write.bind(terminal) as (...sent: unknown[]) => boolean;
  const guardedWrite = (text: unknown, ...rest: unknown[]): boolean =>
    write(typeof text === 'string' && ownWrites === 0 ? visibleLines(text) : text, ...rest);
  terminal.write = guardedWrite as Terminal['write'];
}

/**
 * For what this program draws itself: control characters of `write` pass.
 * What comes from elsewhere in it goes through `visible`.
 */
export function withControls<T>(write: () => T): T {
  ownWrites++;
  try {
    return write();
  } finally {
    ownWrites--;
  }
}

/** The terminal for a library that moves the cursor on it. */
export function drawingOn(terminal: Terminal): Writable {
  const drawing = new Writable({
    decodeStrings: false,
    write(text, _, done) {
      withControls(() => terminal.write(text));
      done();
    },
  });
  return Object.assign(drawing, { isTTY: terminal.isTTY, columns: terminal.columns });
}
