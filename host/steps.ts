import { withControls } from '../cli/printers/terminal-guard.ts';
import { visibleLines } from '../cli/printers/visible.ts';

/** The ticked list that a long command shows: marks and colours on a terminal, plain lines elsewhere. */
export interface Steps {
  ok(text: string): void;
  warn(text: string, advice: string): void;
  fail(text: string, advice: string): void;
  /**
   * What is being waited for. On a terminal the next line takes its place;
   * elsewhere it is a line when it says something new.
   */
  wait(text: string): void;
  /** Plain text, after whatever was waited for. */
  say(text: string): void;
}

export interface StepsOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const clearLine = '\r\u001b[K';
const marks = {
  ok: { mark: '\u001b[32m✓\u001b[0m', word: 'ok' },
  warn: { mark: '\u001b[33m!\u001b[0m', word: 'warning' },
  fail: { mark: '\u001b[31m✗\u001b[0m', word: 'failed' },
} as const;

/** Failures go to `errors` where the output is no terminal. */
export function createSteps(output: StepsOutput, errors: StepsOutput): Steps {
  const isTerminal = output.isTTY === true;
  let waiting: string | undefined;

  const draw = (text: string): unknown => withControls(() => output.write(text));
  const clear = (): void => {
    if (isTerminal && waiting !== undefined) draw(clearLine);
    waiting = undefined;
  };
  const line = (kind: keyof typeof marks, text: string, advice?: string): void => {
    clear();
    const { mark, word } = marks[kind];
    const to = kind === 'fail' && !isTerminal ? errors : output;
    if (isTerminal) draw(`${mark} ${visibleLines(text)}\n`);
    else to.write(`${word}: ${text}\n`);
    if (advice !== undefined) to.write(`${isTerminal ? '  ' : '    '}to mend it: ${advice}\n`);
  };
  return {
    ok: (text) => line('ok', text),
    warn: (text, advice) => line('warn', text, advice),
    fail: (text, advice) => line('fail', text, advice),
    wait(text) {
      if (text === waiting) return;
      if (isTerminal) draw(`${clearLine}… ${visibleLines(text)}`);
      else output.write(`${text}\n`);
      waiting = text;
    },
    say(text) {
      clear();
      output.write(`${text}\n`);
    },
  };
}
