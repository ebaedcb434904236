import { Command, Help, type Option } from 'commander';
import type { CommandEntry } from './command-entry.ts';
import { examples } from './examples.ts';

/**
 * The help of the program and of its commands: commands in groups, examples, and the flags that every command takes.
 */
export function addHelp(program: Command, commands: readonly CommandEntry[]): void {
  const named = (name: string): Command | undefined => program.commands.find((command) => command.name() === name);
  for (const { name, group } of commands) named(name)?.helpGroup(`${group}:`);
  for (const [name, lines] of Object.entries(examples)) named(name)?.addHelpText('after', exampleText(lines));
  program.addHelpCommand(
    new Command('help').argument('[command]').description('show the help of a command').helpGroup('This program:'),
  );
  program.configureHelp({ optionDescription });
  showProgramFlags(program);
}

function showProgramFlags(parent: Command): void {
  for (const command of parent.commands) showProgramFlags(command.configureHelp({ showGlobalOptions: true, optionDescription }));
}

/** An empty list as a default says nothing. */
function optionDescription(this: Help, option: Option): string {
  return Help.prototype.optionDescription.call(this, option).replace(/ ?\(default: \[\]\)$/, '');
}

function exampleText(lines: readonly string[]): string {
  return ['', 'Examples:', ...lines.map((line) => `  berth ${line}`)].join('\n');
}
