import { createRequire } from 'node:module';
import { join } from 'node:path';
import { commandWord, completeCommand } from '../cli/program/command-word.ts';
import { printCompletion } from '../cli/quick/complete-quickly.ts';
import { loadProgram } from './code-cache.ts';

type Program = typeof import('./main.ts');
type Quick = typeof import('../cli/quick/print-quickly.ts');

const folder = import.meta.dirname;
/** Named by its content, as what stands in the code cache is (hack/bundle.js). */
const quickFile = process.env.BERTH_QUICK_FILE!;

/**
 * What bin/berth runs. Short commands are tried without the whole program first. Long-running processes start seldom,
 * and source maps need Node's own loader: they do without the code cache.
 */
export async function start(argv: readonly string[]): Promise<void> {
  const words = argv.slice(2);
  const word = commandWord(words) ?? '';
  const loadFile = createRequire(join(folder, 'start.js'));
  const options = `${process.execArgv.join(' ')} ${process.env.NODE_OPTIONS ?? ''}`;
  if (['server', 'agent', 'scheduler', 'controllers'].includes(word) || options.includes('--enable-source-maps'))
    return (loadFile('./berth.js') as Program).main(argv);
  if (word === completeCommand && printCompletion(words)) return;
  if (word === 'get') {
    const quick = loadProgram(folder, quickFile);
    // Not for an answer that it leaves to the whole program: few of its functions are compiled then.
    if (await (quick.exports as Quick).printQuickly(words, quick.saveCache)) return;
  }
  const program = loadProgram(folder, 'berth.js');
  process.once('exit', program.saveCache);
  return (program.exports as Program).main(argv);
}
