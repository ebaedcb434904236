import type { Command } from 'commander';
import { completeCommand } from '../program/command-word.ts';

/** A person waits for it with a finger on the key. */
const timeoutMs = 1_500;

/** What the scripts of `completion` call. It never fails and never complains: what it cannot know it does not offer. */
export function registerComplete(program: Command): void {
  program
    .command(completeCommand, { hidden: true })
    .argument('[words...]', 'the words behind "berth", up to the cursor')
    .action(async (words: string[]) => {
      const { answer, createLookup } = await import('../completion/answer.ts');
      const { computeQuestion } = await import('../completion/question.ts');
      const question = computeQuestion(program, words.slice(0, -1), words.at(-1) ?? '');
      try {
        const { candidates, glued, files } = await answer(question, createLookup(question.flags, timeoutMs));
        const lines = candidates.map(({ word, description }) => (description ? `${word}\t${description}` : word));
        process.stdout.write([...lines, files ? ':files' : glued ? ':glued' : ':', ''].join('\n'));
      } catch {
        process.stdout.write(':\n');
      }
    });
}
