import { createRequire } from 'node:module';
import { join } from 'node:path';
import { commandWord, completeCommand } from '../cli/program/command-word.ts';
import { printCompletion } from '../cli/quick/complete-quickly.ts';

type Program = typeof import('./main.ts');
type Quick = typeof import('../cli/quick/print-quickly.ts');

const folder = import.meta.dirname;

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
  if (word === 'get' && (await (loadFile('./quick.js') as Quick).printQuickly(words))) return;
  const { loadProgram } = await import('./code-cache.ts');
  const program = loadProgram(folder, 'berth.js');
  process.once('exit', program.saveCache);
  return (program.exports as Program).main(argv);
}
