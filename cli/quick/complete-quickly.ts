import { writeSync } from 'node:fs';
import { configPath } from '../../client/config/config-path.ts';
import { answerText, fittingAnswer } from '../completion/answer-lines.ts';
import { readKeptWords } from '../completion/answers-cache.ts';
import { cachePath } from '../completion/cache-path.ts';
import { isPlainWord } from '../completion/plain-word.ts';
import { completeCommand } from '../program/command-word.ts';

/**
 * The answer to a press of the completion key that an earlier one has found, without the program; undefined: the whole
 * program is to find it, also where nothing kept begins as typed. `words` stand behind "berth".
 */
export function completeQuickly([command, dashes, ...words]: readonly string[], now: number): string | undefined {
  const [before, current = ''] = [words.slice(0, -1), words.at(-1)];
  if (command !== completeCommand || dashes !== '--' || !isPlainWord(current)) return undefined;
  const kept = readKeptWords({ path: cachePath('answers.json'), config: configPath() }, before, now);
  if (kept === undefined) return undefined;
  const answer = { ...fittingAnswer(kept.words, current, kept.glued), files: kept.files };
  return answer.candidates.length > 0 || answer.files ? answerText(answer) : undefined;
}

/** Prints what `completeQuickly` finds and ends the process; false when it finds nothing. */
export function printCompletion(words: readonly string[]): boolean {
  const text = completeQuickly(words, Date.now());
  if (text === undefined) return false;
  for (let rest = Buffer.from(text); rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      // A reader that does not read yet, or no longer.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') break;
    }
  }
  process.exit();
}
