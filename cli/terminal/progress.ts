import { withControls } from '../printers/terminal-guard.ts';
import { visible } from '../printers/visible.ts';

/**
 * One line at the bottom of a terminal that says what is waited for;
 * nothing at all where standard error is no terminal.
 */
export interface Progress {
  /** Shows this text instead of the last. */
  show(text: string): void;
  /** Clears the line; call it before other output. */
  clear(): void;
}

/** What of a terminal, or a pipe, is used. */
export type Terminal = Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'>;

const clearLine = '\r\u001b[K';

export function createProgress(terminal: Terminal = process.stderr): Progress {
  if (!terminal.isTTY) return { show: () => undefined, clear: () => undefined };
  let shown = false;
  const draw = (text: string): unknown => withControls(() => terminal.write(text));
  return {
    show(shownText) {
      const text = visible(shownText);
      const width = Math.max(20, (terminal.columns || 80) - 1);
      draw(`${clearLine}${text.length > width ? `${text.slice(0, width - 3)}...` : text}`);
      shown = true;
    },
    clear() {
      if (shown) draw(clearLine);
      shown = false;
    },
  };
}
