import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { labelNameError } from '../../api/meta/names.ts';
import { packageVersion } from '../commands/version.ts';
import { diffFailed, diffUsageExit } from '../diff/usage-exit.ts';
import { collect } from '../generators/pairs.ts';
import { guardTerminal } from '../printers/terminal-guard.ts';
import { type CommandEntry, groups, type Register } from './command-entry.ts';
import { commandWord, completeCommand } from './command-word.ts';
import { describeFailure, ExitWith } from './failure.ts';
import { expandFlags } from './flag-words.ts';
import { foreignSubcommand, insteadOf } from './foreign-flags.ts';
import { addHelp, refuseUnknownSubcommand, withHelpFlag } from './help.ts';
import { failOnLostOutput } from './lost-output.ts';
import { unknownCommand } from './unknown-command.ts';

export interface CommandLine {
  /** In the order of the help. */
  readonly commands: readonly CommandEntry[];
  /**
   * All of it, or only the commands that these words (those behind "berth") call. Words that name no command load
   * everything, for the help and for the guess at what was meant.
   */
  createProgram(words?: readonly string[]): Promise<Command>;
  /**
   * Runs one command line and sets the exit code: 0, 1 after one plain sentence on standard error,
   * or a program's own code.
   */
  main(argv: readonly string[]): Promise<void>;
}

/** A command line of these commands. In the help they stand in their order, below the headings of `groups`. */
export function createCommandLine(entries: readonly CommandEntry[]): CommandLine {
  const commands = entries.toSorted((a, b) => groups.indexOf(a.group) - groups.indexOf(b.group));
  return {
    commands,
    createProgram: (words = []) => createProgram(commands, words),
    main: (argv) => main(commands, argv.slice(2)),
  };
}

type Commands = readonly CommandEntry[];

async function createProgram(commands: Commands, words: readonly string[]): Promise<Command> {
  const program = new Command('berth')
    .description('Runs containers on a set of Linux machines')
    .version(packageVersion(), '--version', 'show the version')
    .option('-n, --namespace <name>', 'the namespace to work in', parseNamespace)
    .option('--context <name>', 'the context of the configuration to use')
    .option(
      '--as <user>',
      'act as this user, if you may impersonate it; system:serviceaccount:NAMESPACE:NAME for a service account',
    )
    .option('--as-group <group>', 'act as in this group, with --as; may be given several times', collect)
    .option('--request-timeout <duration>', 'the timeout of each request, e.g. 30s; 0: none')
    .enablePositionalOptions(false)
    .configureOutput({ outputError: (text, write) => write(plainError(text)) })
    .exitOverride()
    .hook('preAction', (_, command) => prepareKinds(command));
  for (const register of await loadCommands(commands, words)) register(program);
  addHelp(program, commands);
  throwErrors(program);
  program.commands.find((command) => command.name() === 'diff')?.exitOverride(diffUsageExit);
  return program;
}

/**
 * What registers the commands that the words call. For a completion it is the command in the words behind it; the
 * others are known by name.
 */
async function loadCommands(commands: Commands, words: readonly string[]): Promise<Register[]> {
  const word = commandWord(words);
  const completed = word === completeCommand ? commandWord(words.slice(words.indexOf(completeCommand) + 1, -1)) : undefined;
  const wanted = commands.filter(({ name }) => name === word || name === completed);
  if (wanted.length === 0) return Promise.all(commands.map(({ load }) => load()));
  const outlines = wanted.some(({ seesOthers }) => seesOthers) ? commands.filter((entry) => !wanted.includes(entry)) : [];
  return [...outlines.map(registerOutline), ...(await Promise.all(wanted.map(({ load }) => load())))];
}

/** Asks the server for its kinds where the words of a command name one that is none of Berth's own. */
async function prepareKinds(command: Command): Promise<void> {
  const words = kindWords(command);
  if (words === undefined) return;
  const [{ learnFrom, learnKinds }, { areOwnKinds }] = await Promise.all([
    import('../args/other-kinds.ts'),
    import('../args/resource-args.ts'),
  ]);
  learnFrom(command);
  if (command.name() === 'api-resources' || !areOwnKinds(words)) await learnKinds();
}

/** Commands whose first words are kinds, or that read manifests. */
const commandsOfKinds: ReadonlySet<string> = new Set([
  ...['get', 'describe', 'delete', 'edit', 'patch', 'label', 'annotate', 'wait', 'scale', 'explain', 'history', 'replace'],
  ...['apply', 'create', 'diff', 'api-resources', 'rollout', 'set', 'autoscale'],
]);

/** Commands whose words may be names alone: of a kind speaks only TYPE/NAME. */
const commandsOfPods: ReadonlySet<string> = new Set(['why', 'logs', 'port-forward', 'exec', 'attach', 'debug', 'events']);

/** The words of a command that may name kinds; undefined for a command that is about none. */
function kindWords(command: Command): readonly string[] | undefined {
  const { parent } = command;
  const name = parent?.parent ? parent.name() : command.name();
  if (name === 'explain') return command.args.map((word) => word.split('.')[0] ?? '');
  // What is set, as "container=image".
  if (commandsOfKinds.has(name) || commandsOfKinds.has(command.name())) return command.args.filter((word) => !word.includes('='));
  return commandsOfPods.has(name) ? command.args.filter((word) => word.includes('/')).slice(0, 1) : undefined;
}

/** A command of which only the name and the description are known. */
function registerOutline({ name, description, hidden = false }: CommandEntry): Register {
  return (program) => void program.command(name, { hidden }).description(description);
}

/** An empty name stays one, which `givenNamespace` reads: the parser makes "" of undefined as well. */
function parseNamespace(text: string): string {
  const rule = text === '' ? undefined : labelNameError(text);
  if (rule !== undefined) throw new InvalidArgumentError(`A namespace's name ${rule}.`);
  return text;
}

/** Every command reports a mistake by throwing, as the program does. */
function throwErrors(parent: Command): void {
  for (const command of parent.commands) throwErrors(command.exitOverride());
}

/** The parser's message and its guess as one sentence, with where to look. */
function plainError(text: string): string {
  const sentence = text
    .trimEnd()
    .replace(/\.$/, '')
    .replace(/\.?\n\(Did you mean (?:one of )?(.*)\?\)$/, '; did you mean $1?');
  const [, flag] = /unknown option '(\S+)'/.exec(sentence) ?? [];
  const instead = flag === undefined ? undefined : insteadOf(flag);
  if (instead !== undefined) return `error: unknown option '${flag}'; ${instead}\n`;
  return `${sentence}${sentence.endsWith('?') ? '' : '; --help says how to use it'}\n`;
}

/** The word that should be a command and is none. */
function foreignWord(commands: Commands, words: readonly string[]): string | undefined {
  const word = commandWord(words);
  return word === 'help' || commands.some(({ name }) => name === word) ? undefined : word;
}

/**
 * Runs the plugin that the words call, and ends as it does. Throws where there is none,
 * also where --help stands behind the word.
 */
async function callPlugin(commands: Commands, words: readonly string[], word: string): Promise<void> {
  const { runPlugin } = await import('../plugins/run-plugin.ts');
  if (await runPlugin(words, word)) return;
  const { kindOf } = await import('../../api/kinds/index.ts');
  const names = commands.map(({ name }) => name);
  throw unknownCommand(word, names, kindOf(word)?.plural);
}

async function main(commands: Commands, typed: readonly string[]): Promise<void> {
  const words = withHelpFlag(typed);
  for (const terminal of [process.stdout, process.stderr]) guardTerminal(terminal);
  const [first = ''] = words;
  const instead = insteadOf(first);
  const unknown = instead === undefined ? foreignSubcommand(words) : `unknown option '${first}'; ${instead}`;
  if (unknown !== undefined) {
    process.stderr.write(`error: ${unknown}\n`);
    process.exitCode = 1;
    return;
  }
  const foreign = foreignWord(commands, words);
  const program = foreign === undefined ? await createProgram(commands, words) : undefined;
  failOnLostOutput(() => (program?.args[0] === 'diff' ? diffFailed : 1));
  try {
    if (foreign !== undefined) await callPlugin(commands, words, foreign);
    if (program !== undefined) refuseUnknownSubcommand(program, words);
    await program?.parseAsync(expandFlags(program, words), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : 1;
      return;
    }
    const text = error instanceof ExitWith ? error.message : describeFailure(error);
    if (text !== '') process.stderr.write(`error: ${text}\n`);
    process.exitCode = error instanceof ExitWith ? error.exitCode : 1;
  }
}
