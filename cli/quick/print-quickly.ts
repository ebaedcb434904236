import { guardTerminal } from '../printers/terminal-guard.ts';
import { failOnLostOutput } from '../program/lost-output.ts';
import { answerQuickly } from './answer-quickly.ts';

/** Prints what `answerQuickly` finds, and ends the process; false when it finds nothing. */
export async function printQuickly(words: readonly string[]): Promise<boolean> {
  const answer = await answerQuickly(words);
  if (answer === undefined) return false;
  guardTerminal(process.stdout);
  failOnLostOutput(() => 1);
  // Taking the program down in order would cost some of what was saved.
  process.stdout.write(answer, () => process.exit());
  return true;
}
