import type { Command } from 'commander';
import type { Node, Taint } from '../../api/generated/types.ts';
import { mayLabelItself } from '../../api/kinds/node/own-labels.ts';
import { labelValueError, qualifiedNameError } from '../../api/meta/names.ts';
import { collect } from '../../cli/generators/pairs.ts';
import { parseTaint } from '../../cli/taint/taint-change.ts';
import type { Client } from '../../client/index.ts';
import type { Steps } from '../steps.ts';

/** With what a node is made. */
export interface Registration {
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
}

export interface RegistrationFlags {
  readonly label?: readonly string[] | undefined;
  readonly taint?: readonly string[] | undefined;
}

export function withRegistrationFlags(command: Command): Command {
  return command
    .option('--label <key=value>', 'a label of the node when it is made; may be given several times', collect)
    .option('--taint <key=value:effect>', 'a taint of the node when it is made; may be given several times', collect);
}

/** What is wrong with the flags: a sentence each. */
export function registrationErrors({ label = [], taint = [] }: RegistrationFlags): string[] {
  return [...label.map(labelError), ...taint.map(taintError)].filter((error) => error !== undefined);
}

function labelError(text: string): string | undefined {
  const equals = text.indexOf('=');
  if (equals < 1) return `--label "${text}" must be KEY=VALUE`;
  const [key, value] = [text.slice(0, equals), text.slice(equals + 1)];
  const rule = qualifiedNameError(key);
  if (rule) return `--label "${text}": the key ${rule}`;
  const valueRule = labelValueError(value);
  if (valueRule) return `--label "${text}": the value ${valueRule}`;
  if (mayLabelItself(key)) return undefined;
  return `--label "${text}": a node may not give itself this label, because it says what the node may be trusted with or is for (NodeRestriction); an administrator gives it: berth label node NAME ${text}`;
}

function taintError(text: string): string | undefined {
  try {
    const { key, value = '' } = parseTaint(text);
    const rule = qualifiedNameError(key) ?? labelValueError(value);
    return rule ? `--taint "${text}" ${rule}` : undefined;
  } catch (error) {
    return `--taint ${(error as Error).message}`;
  }
}

/** What the words mean. Throws INVALID_ARGUMENT for a taint that is none. */
export function parseRegistration({ label = [], taint = [] }: RegistrationFlags): Registration {
  const pairs = label.map((text): [string, string] => {
    const equals = text.indexOf('=');
    return [text.slice(0, equals), text.slice(equals + 1)];
  });
  return { labels: Object.fromEntries(pairs), taints: taint.map(parseTaint) };
}

/**
 * The commands that would give a node what it lacks of it, because it was there already; none: it has all of it. Pure.
 */
export function lackingCommands(node: Node, { labels, taints }: Registration): string[] {
  const name = node.metadata?.name ?? '';
  const missing = Object.entries(labels).filter(([key, value]) => node.metadata?.labels?.[key] !== value);
  const absent = taints.filter(
    ({ key, value = '', effect }) =>
      !node.spec?.taints?.some((each) => each.key === key && (each.value ?? '') === value && each.effect === effect),
  );
  const text = ({ key, value, effect }: Taint) => `${key}${value ? `=${value}` : ''}:${effect}`;
  return [
    ...(missing.length > 0 ? [`berth label node ${name} --overwrite ${missing.map((pair) => pair.join('=')).join(' ')}`] : []),
    ...(absent.length > 0 ? [`berth taint nodes ${name} --overwrite ${absent.map(text).join(' ')}`] : []),
  ];
}

/**
 * A node that was there already keeps its labels and taints, since they were set on purpose: says how they are changed.
 */
export async function tellLacking(client: Client, nodeName: string, flags: RegistrationFlags, steps: Steps): Promise<void> {
  if (!flags.label?.length && !flags.taint?.length) return;
  const commands = lackingCommands(await client.nodes.get({ name: nodeName }), parseRegistration(flags));
  if (commands.length === 0) return;
  steps.warn(
    `node ${nodeName} was there already and keeps its labels and taints: --label and --taint are for a node that is made`,
    `as administrator: ${commands.join(' && ')}`,
  );
}
