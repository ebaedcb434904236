import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandWord } from '../cli/program/command-word.ts';
import { loadProgram } from './code-cache.ts';

type Program = typeof import('./main.ts');

const folder = dirname(fileURLToPath(import.meta.url));

/**
 * What bin/berth runs. Long-running processes start seldom, and source maps need Node's own loader:
 * they do without the code cache.
 */
export function start(argv: readonly string[]): Promise<void> {
  const options = `${process.execArgv.join(' ')} ${process.env.NODE_OPTIONS ?? ''}`;
  if (
    ['server', 'agent', 'scheduler', 'controllers'].includes(commandWord(argv.slice(2)) ?? '') ||
    options.includes('--enable-source-maps')
  ) {
    return (createRequire(join(folder, 'start.js'))('./berth.js') as Program).main(argv);
  }
  const program = loadProgram(folder, 'berth.js');
  process.once('exit', program.saveCache);
  return (program.exports as Program).main(argv);
}
