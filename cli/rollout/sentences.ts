import { createProgress, type Terminal } from '../terminal/progress.ts';
import type { RolloutStatus } from './rollout-status.ts';

/** What a person or a program reads of a rollout. */
export interface Sentences {
  /** How far it is; what was said last is not said again. */
  show(status: RolloutStatus): void;
  /** What is wrong meanwhile. */
  warn(line: string): void;
  /** Clears what only a terminal shows. */
  end(): void;
}

/**
 * Prints sentences on `out`, and warnings on `err`. Where a person looks at both, all but the last sentence stand in
 * one line that changes.
 */
export function createSentences(out: Terminal = process.stdout, err: Terminal = process.stderr): Sentences {
  const progress = out.isTTY === true && err.isTTY === true ? createProgress(err) : undefined;
  let last = '';
  return {
    show({ text, done }) {
      if (text === last) return;
      last = text;
      if (progress && !done) progress.show(text);
      else {
        progress?.clear();
        out.write(`${text}\n`);
      }
    },
    warn(line) {
      progress?.clear();
      err.write(`warning: ${line}\n`);
      if (last !== '') progress?.show(last);
    },
    end: () => progress?.clear(),
  };
}
