import type { Command } from 'commander';
import { configPath } from '../../client/config/config-path.ts';
import { cachePath } from '../completion/cache-path.ts';
import { completeCommand } from '../program/command-word.ts';

/** A person waits for it with a finger on the key. */
const timeoutMs = 1_500;

/** What the scripts of `completion` call. It never fails and never complains: what it cannot know it does not offer. */
export function registerComplete(program: Command): void {
  program
    .command(completeCommand, { hidden: true })
    .argument('[words...]', 'the words behind "berth", up to the cursor')
    .action(async (words: string[]) => {
      const [{ answer, createLookup }, { answerText }, { computeQuestion }] = await Promise.all([
        import('../completion/answer.ts'),
        import('../completion/answer-lines.ts'),
        import('../completion/question.ts'),
      ]);
      const before = words.slice(0, -1);
      const question = computeQuestion(program, before, words.at(-1) ?? '');
      try {
        const found = await answer(question, createLookup(question.flags, timeoutMs));
        process.stdout.write(answerText(found));
        if (found.kept === undefined) return;
        const { keepWords } = await import('../completion/answers-cache.ts');
        keepWords({ path: cachePath('answers.json'), config: configPath() }, before, found.kept, Date.now());
      } catch {
        process.stdout.write(':\n');
      }
    });
}
