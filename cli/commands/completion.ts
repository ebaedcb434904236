import { Argument, type Command } from 'commander';
import { completionScripts, type Shell, shells } from '../completion/scripts.ts';

export function registerCompletion(program: Command): void {
  program
    .command('completion')
    .description('Print a shell completion script: source <(berth completion bash)')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action((shell: Shell) => {
      process.stdout.write(completionScripts[shell]);
    });
}
