import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { collect } from '../../cli/generators/pairs.ts';
import { type RegistrationFlags, registrationErrors } from '../join/registration.ts';
import type { ProcessName } from '../processes/berth-processes.ts';
import { withAgentTuning } from './agent-flags.ts';
import { type LostNodeFlags, lostNodeErrors } from './lost-node-flags.ts';
import { restartPeriodErrors } from './restart-period.ts';
import { withServerTuning } from './server-flags.ts';

/**
 * The rule: what `berth server` and `berth agent` take, commands that start them in the background take under the same
 * name, hands on as it was typed, and remembers until something else is said: by flag, its words. No word: a flag
 * without a value.
 */
export type PassedFlags = Readonly<Record<string, readonly string[]>>;

const tunings = { server: withServerTuning, agent: withAgentTuning } satisfies Record<ProcessName, unknown>;
const optionsOf = (name: ProcessName): readonly Option[] => tunings[name](new Command()).options;
const all: readonly Option[] = [...optionsOf('server'), ...optionsOf('agent')];

/**
 * Adds the flags of these processes, except those that the command has of its own.
 * `""` as a value puts one back to its default.
 */
export function withPassedFlags(command: Command, names: readonly ProcessName[]): Command {
  const own = new Set(command.options.map(({ long }) => long));
  for (const option of all) {
    const takers = names.filter((name) => optionsOf(name).some(({ long }) => long === option.long));
    if (takers.length === 0 || own.has(option.long)) continue;
    own.add(option.long);
    const heading = `Handed on to the ${takers.join(' and the ')}, as before unless given ("" puts back the default):`;
    for (const made of handOn(option)) command.addOption(made.helpGroup(heading));
  }
  return command;
}

function handOn(option: Option): Option[] {
  const { long = '', flags, description } = option;
  if (option.negate) {
    const positive = long.replace('--no-', '--');
    // When the positive option exists already, passing it takes the negative one back.
    if (all.some((other) => other.long === positive)) return [new Option(long, description)];
    return [new Option(positive, `takes ${long} back`), new Option(long, description)];
  }
  const parse = (text: string, before: readonly string[] = []): readonly string[] => {
    if (text === '') return [''];
    option.parseArg?.call(option, text, undefined);
    const word = /<(file|path)>/.test(flags) ? resolve(text) : text;
    return option.parseArg === collect ? [...before, word] : [word];
  };
  return [new Option(flags, description).argParser(parse as never)];
}

/**
 * What was typed of the flags that are handed on, from what the command line's parser made of it. `['']`:
 * back to the default.
 */
export function passedOf(given: object): PassedFlags {
  const values = given as Readonly<Record<string, unknown>>;
  const entries = all.flatMap((option) => {
    const value = values[option.attributeName()];
    if (option.negate && value !== undefined) return [[option.long ?? '', value === false ? [] : ['']] as const];
    return Array.isArray(value) ? [[option.long ?? '', value as string[]] as const] : [];
  });
  return Object.fromEntries(entries);
}

const isDefault = (words: readonly string[] | undefined): boolean => words === undefined || words[0] === '';

/** Given, else as before; undefined when nothing is. */
export function mergePassed(before: PassedFlags | undefined, given: PassedFlags): PassedFlags | undefined {
  const said = Object.entries({ ...before, ...given }).filter(([, words]) => !isDefault(words));
  return said.length === 0 ? undefined : Object.fromEntries(said);
}

/** What the parser did not see: a sentence each. */
export function passedErrors(given: PassedFlags): string[] {
  const lone: Record<string, string> = {};
  for (const option of all) {
    const words = given[option.long ?? ''];
    if (!isDefault(words)) lone[option.attributeName()] = words?.[0] ?? '';
  }
  const [label, taint] = ['--label', '--taint'].map((flag) => (isDefault(given[flag]) ? [] : given[flag]));
  const errors = [
    ...registrationErrors({ label, taint }),
    ...lostNodeErrors(lone as LostNodeFlags),
    ...restartPeriodErrors(lone.maxContainerRestartPeriod),
  ];
  if (!isDefault(given['--audit-policy-file']) && !isDefault(given['--no-audit']))
    errors.push('--audit-policy-file and --no-audit exclude each other');
  return errors;
}

/** Of them, with what a node is made. */
export function passedRegistration(passed: PassedFlags = {}): RegistrationFlags {
  return { label: passed['--label'], taint: passed['--taint'] };
}

/** The words that a process is started with. */
export function passedArguments(name: ProcessName, passed: PassedFlags = {}): string[] {
  const known = new Set(optionsOf(name).map(({ long }) => long));
  return Object.entries(passed)
    .filter(([flag]) => known.has(flag))
    .flatMap(([flag, words]) => typed(flag, words));
}

const typed = (flag: string, words: readonly string[]): string[] =>
  words.length === 0 ? [flag] : words.flatMap((word) => [flag, word]);

/** As they were given, to be typed again. */
export const typedPassed = (passed: PassedFlags): string[] =>
  Object.entries(passed).flatMap(([flag, words]) =>
    flag.startsWith('--no-') && words.length > 0 ? [flag.replace('--no-', '--')] : typed(flag, words),
  );

/** A flag and how it stands in two of them, for those where that differs. */
export function passedChanges(
  next: PassedFlags = {},
  before: PassedFlags = {},
): readonly { readonly flag: string; readonly next: string; readonly before: string }[] {
  const flags = [...new Set([...Object.keys(next), ...Object.keys(before)])];
  return flags
    .map((flag) => ({ flag, next: state(next[flag]), before: state(before[flag]) }))
    .filter((change) => change.next !== change.before);
}

const state = (words: readonly string[] | undefined): string => (isDefault(words) ? 'its default' : words?.join(' ') || 'given');
