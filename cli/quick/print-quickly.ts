import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { visibleLines } from '../printers/visible.ts';
import { failOnLostOutput } from '../program/lost-output.ts';
import { answerQuickly } from './answer-quickly.ts';

/** Prints what `answerQuickly` finds, and ends the process, with `atEnd`; false when it finds nothing. */
export async function printQuickly(words: readonly string[], atEnd: () => void): Promise<boolean> {
  const answer = await answerQuickly(words);
  if (answer === undefined) return false;
  process.once('exit', atEnd);
  const text = Buffer.from(isatty(1) ? visibleLines(answer) : answer);
  const rest = text.subarray(writtenAtOnce(text));
  // Taking the program down in order would cost some of what was saved.
  if (rest.length === 0) process.exit();
  failOnLostOutput(() => 1);
  process.stdout.write(rest, () => process.exit());
  return true;
}

/**
 * How many bytes were written without Node's stream of the output, which takes a short command a millisecond: that one
 * is for the rest, and says what is wrong.
 */
function writtenAtOnce(text: Buffer): number {
  let written = 0;
  try {
    while (written < text.length) written += writeSync(1, text, written);
  } catch {
    // A reader that is slow, or gone; a full disk.
  }
  return written;
}
