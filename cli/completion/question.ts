import type { Command, Option } from 'commander';
import { logLevels } from '../../api/meta/log-level.ts';
import { outputFormats } from '../printers/formats.ts';
import { havingPods } from '../workload/pod-selector.ts';

/** A word that may stand where the cursor is, with what it means. */
export interface Candidate {
  readonly word: string;
  readonly description?: string;
}

/** What may stand where the cursor is; what is not in the program itself has to be looked up. */
export type Wanted =
  | { readonly type: 'words'; readonly words: readonly Candidate[] }
  /** A command: one of these, or a plugin. */
  | { readonly type: 'command'; readonly words: readonly Candidate[] }
  /**
   * TYPE, TYPE/NAME or a name, as commands like `get` take them; `before` are the words that stand there already, and
   * `kinds` those that the command is for, when not all.
   */
  | { readonly type: 'resource'; readonly before: readonly string[]; readonly kinds?: readonly string[] }
  /** A name of a kind; also TYPE/NAME of the kinds `owners`. */
  | {
      readonly type: 'object';
      readonly kind: string;
      readonly before: readonly string[];
      readonly owners?: readonly string[];
    }
  | { readonly type: 'container'; readonly pod: string }
  | { readonly type: 'context' }
  /** The server, or the agent of a node. */
  | { readonly type: 'component' }
  /** TYPE.FIELD.FIELD, as `explain` takes it. */
  | { readonly type: 'field' }
  | { readonly type: 'file' }
  | { readonly type: 'nothing' };

export interface Question {
  readonly wanted: Wanted;
  /** What is typed of the word already, without `prefix`. */
  readonly current: string;
  /** What stands before the answer in the same word, e.g. "--namespace=". */
  readonly prefix: string;
  /** The values of flags that stand before the cursor, by the name of their attribute. */
  readonly flags: ReadonlyMap<string, string>;
}

/**
 * What words stand before the cursor: the command that they call, its arguments, and the flag that waits for its value.
 */
interface Line {
  command: Command;
  readonly path: string[];
  readonly positional: string[];
  readonly flags: Map<string, string>;
  open: Option | undefined;
  literal: boolean;
}

/** Finds out what may stand where the cursor is: behind `before`, where `current` is typed already. Pure. */
export function computeQuestion(program: Command, before: readonly string[], current: string): Question {
  const line: Line = { command: program, path: [], positional: [], flags: new Map(), open: undefined, literal: false };
  for (const word of before) read(line, word);
  const base = { current, prefix: '', flags: line.flags };
  if (line.open) return { ...base, wanted: flagValue(line.open, line) };
  if (line.literal || !current.startsWith('-')) return { ...base, wanted: argumentOf(line) };
  const equals = current.indexOf('=');
  const option = equals < 0 ? undefined : findOption(line.command, current.slice(0, equals));
  if (!option) return { ...base, wanted: { type: 'words', words: optionWords(line.command) } };
  return { ...base, prefix: current.slice(0, equals + 1), current: current.slice(equals + 1), wanted: flagValue(option, line) };
}

function read(line: Line, word: string): void {
  const { open } = line;
  if (open) {
    line.flags.set(open.attributeName(), word);
    line.open = undefined;
  } else if (line.literal) line.positional.push(word);
  else if (word === '--') line.literal = true;
  else if (word.startsWith('-') && word !== '-') readFlag(line, word);
  else {
    const inner = line.positional.length === 0 ? subcommand(line.command, word) : undefined;
    if (!inner) line.positional.push(word);
    else {
      line.command = inner;
      line.path.push(inner.name());
    }
  }
}

function readFlag(line: Line, word: string): void {
  const equals = word.indexOf('=');
  const option = findOption(line.command, equals < 0 ? word : word.slice(0, equals));
  if (!option?.required) return;
  if (equals < 0) line.open = option;
  else line.flags.set(option.attributeName(), word.slice(equals + 1));
}

function subcommand(command: Command, word: string): Command | undefined {
  return command.commands.find((each) => each.name() === word || each.aliases().includes(word));
}

/** The flag of a command, or of those that it is a command of. */
function findOption(command: Command | null, word: string): Option | undefined {
  if (!command) return undefined;
  const found = command.options.find((option) => option.long === word || option.short === word);
  return found ?? findOption(command.parent, word);
}

function optionWords(command: Command): Candidate[] {
  const inherited: Option[] = [];
  for (let above = command.parent; above; above = above.parent) inherited.push(...above.options.filter(({ hidden }) => !hidden));
  const all = [...command.createHelp().visibleOptions(command), ...inherited];
  return all.flatMap(({ long, description }) => (long && long !== '--version' ? [{ word: long, description }] : []));
}

/** What a flag may be set to, by what it is called. */
function flagValue(option: Option, line: Line): Wanted {
  if (option.argChoices) return { type: 'words', words: option.argChoices.map((word) => ({ word })) };
  switch (option.attributeName()) {
    case 'namespace':
      return { type: 'object', kind: 'Namespace', before: [] };
    case 'context':
      return { type: 'context' };
    case 'container':
      return { type: 'container', pod: line.positional[0] ?? '' };
    case 'for':
      return line.path.at(-1) === 'events' ? { type: 'resource', before: ['TYPE/NAME'] } : { type: 'nothing' };
    case 'output':
      return { type: 'words', words: formatsIn(option.description).map((word) => ({ word })) };
    default:
      return /file|dir|kustomize/i.test(option.attributeName()) ? { type: 'file' } : { type: 'nothing' };
  }
}

/** Formats of which some take a value are no list of choices: the help says which there are. */
function formatsIn(description: string): string[] {
  const words = description.split(/[\s,:]+/).map((word) => word.replace(/=.*$/, ''));
  return Object.keys(outputFormats).filter((format) => words.includes(format));
}

/** What an argument may be: by the command and its name where the name alone does not tell. */
function argumentOf({ command, path, positional }: Line): Wanted {
  if (command.commands.length > 0 && positional.length === 0)
    return { type: command.parent ? 'words' : 'command', words: commandWords(command) };
  const declared = command.registeredArguments;
  const argument = declared[positional.length] ?? (declared.at(-1)?.variadic ? declared.at(-1) : undefined);
  if (!argument) return { type: 'nothing' };
  if (argument.argChoices) return { type: 'words', words: argument.argChoices.map((word) => ({ word })) };
  const [verb = '', noun = ''] = path;
  switch (argument.name()) {
    case 'type': {
      const kinds = kindsFor(verb, noun);
      return { type: 'resource', before: positional, ...(kinds && { kinds }) };
    }
    case 'pod':
      return { type: 'object', kind: 'Pod', before: [], ...(ofWorkloads.includes(verb) && { owners: havingPods }) };
    case 'node':
      return { type: 'object', kind: 'Node', before: positional };
    case 'container':
      return { type: 'container', pod: positional[0] ?? '' };
    case 'component':
      return { type: 'component' };
    case 'level':
      return { type: 'words', words: logLevels.map((word) => ({ word })) };
    case 'path':
      return verb === 'explain' ? { type: 'field' } : { type: 'file' };
    case 'name':
      if (verb === 'config') return { type: 'context' };
      return verb === 'top' ? { type: 'object', kind: noun === 'nodes' ? 'Node' : 'Pod', before: [] } : { type: 'nothing' };
    default:
      return /^(source|target|from|to|file|dir)$/.test(argument.name()) ? { type: 'file' } : { type: 'nothing' };
  }
}

/** Commands that choose a pod of what has some. */
const ofWorkloads = ['logs', 'exec', 'attach', 'port-forward'];
const scaled = ['Deployment', 'ReplicaSet', 'StatefulSet', 'ReplicationController'];
const rolledOut = ['Deployment', 'DaemonSet', 'StatefulSet'];
const templated = [
  'Deployment',
  'StatefulSet',
  'DaemonSet',
  'CronJob',
  'ReplicaSet',
  'ReplicationController',
  'Pod',
  'PodTemplate',
];

/** The kinds that a command is for; undefined: all. */
function kindsFor(verb: string, noun: string): readonly string[] | undefined {
  if (verb === 'scale' || verb === 'autoscale') return scaled;
  if (verb === 'expose') return ['Deployment', 'ReplicaSet', 'ReplicationController', 'Pod', 'Service'];
  if (verb === 'rollout') return noun === 'pause' || noun === 'resume' ? ['Deployment'] : rolledOut;
  if (verb === 'set') return noun === 'selector' ? ['Service'] : templated;
  return verb === 'why' ? ['Pod', 'Service', ...rolledOut, 'ReplicaSet', 'ReplicationController', 'Job', 'CronJob'] : undefined;
}

function commandWords(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((each) => ({ word: each.name(), description: each.description() }));
}
