import { Command, Help, type Option } from 'commander';
import type { CommandEntry } from './command-entry.ts';
import { commandWord } from './command-word.ts';
import { examples } from './examples.ts';
import { unknownSubcommand } from './unknown-command.ts';

/**
 * The help of the program and of its commands: commands in groups, examples, and the flags that every command takes.
 */
export function addHelp(program: Command, commands: readonly CommandEntry[]): void {
  const named = (name: string): Command | undefined => program.commands.find((command) => command.name() === name);
  for (const { name, group } of commands) named(name)?.helpGroup(`${group}:`);
  for (const [name, lines] of Object.entries(examples)) named(name)?.addHelpText('after', exampleText(lines));
  program.addHelpCommand(
    new Command('help').argument('[command...]').description('show the help of a command').helpGroup('This program:'),
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

/** "help rollout restart" as "rollout restart --help", which the parser's own help command shows of one word only. */
export function withHelpFlag(words: readonly string[]): readonly string[] {
  if (commandWord(words) !== 'help') return words;
  const at = words.indexOf('help');
  const called = [...words.slice(0, at), ...words.slice(at + 1)];
  return commandWord(called) === undefined ? words : [...called, '--help'];
}

/** The parser shows the help of the group behind a subcommand that does not exist, and ends with 0. */
export function refuseUnknownSubcommand(program: Command, words: readonly string[]): void {
  if (!words.some((word) => word === '--help' || word === '-h')) return;
  const name = commandWord(words);
  const group = program.commands.find((command) => command.name() === name);
  if (group === undefined || group.commands.length === 0 || group.registeredArguments.length > 0) return;
  const word = commandWord(words.slice(words.indexOf(group.name()) + 1));
  const known = group.commands.flatMap((command) => [command.name(), ...command.aliases()]);
  if (word !== undefined && word !== 'help' && !known.includes(word)) throw unknownSubcommand(group.name(), word, known);
}
