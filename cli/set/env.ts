import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { envNameError } from '../../api/meta/names.ts';
import { list, type Tree, text, tree } from '../describe/json.ts';
import { patchContainers, selectContainers } from './containers.ts';

/** What is to become of environment variables: items of `env`, and names to remove. */
export interface EnvChange {
  readonly set: readonly JsonObject[];
  readonly remove: readonly string[];
}

/** Splits "deployment web A=1 B-" into what names objects and what is to change. */
export function splitEnv(words: readonly string[]): { readonly objects: string[]; readonly changes: string[] } {
  const first = words.findIndex(isChange);
  const at = first < 0 ? words.length : first;
  const late = words.slice(at).find((word) => !isChange(word));
  if (late !== undefined)
    throw badRequest(`all resources must be specified before environment changes: "${late}" comes behind one`);
  return { objects: words.slice(0, at), changes: words.slice(at) };
}

const isChange = (word: string): boolean => word.includes('=') || word.endsWith('-');

/** Reads KEY=VALUE and KEY-; "-" stands for lines KEY=VALUE of standard input. Throws INVALID_ARGUMENT. */
export function parseEnv(words: readonly string[], input = ''): EnvChange {
  const values = new Map<string, string>();
  const remove: string[] = [];
  for (const word of words.flatMap((each) => (each === '-' ? linesOf(input) : [each]))) {
    const equals = word.indexOf('=');
    if (equals < 0 && word.endsWith('-')) remove.push(word.slice(0, -1));
    else if (equals < 0) throw badRequest(`"${word}" is neither KEY=VALUE nor KEY-`);
    else values.set(checkedName(word.slice(0, equals)), word.slice(equals + 1));
  }
  const both = remove.find((name) => values.has(name));
  if (both !== undefined) throw badRequest(`can not both modify and remove the same environment variable: "${both}"`);
  return { set: [...values].map(([name, value]) => ({ name, value })), remove };
}

/** The lines of `env`, without comments and what is no variable. */
function linesOf(input: string): string[] {
  return input
    .split(/\r?\n/)
    .map((line) => line.replace(/#.*/, ''))
    .filter((line) => line.includes('='));
}

function checkedName(name: string): string {
  const rule = envNameError(name);
  if (rule !== undefined) throw badRequest(`"${name}" is not a valid key name: it ${rule}`);
  return name;
}

/** Variables that take their values from the keys of a ConfigMap or Secret. */
export function envFrom(
  source: { readonly kind: 'ConfigMap' | 'Secret'; readonly name: string; readonly keys: readonly string[] },
  wanted: readonly string[],
): JsonObject[] {
  const missing = wanted.find((key) => !source.keys.includes(key));
  if (missing !== undefined) throw badRequest(`${source.kind.toLowerCase()} "${source.name}" has no key "${missing}"`);
  const reference = source.kind === 'ConfigMap' ? 'configMapKeyRef' : 'secretKeyRef';
  return source.keys
    .filter((key) => wanted.length === 0 || wanted.includes(key))
    .map((key) => ({
      name: key.replace(/[^a-zA-Z0-9_]/g, '_').toUpperCase(),
      valueFrom: { [reference]: { name: source.name, key } },
    }));
}

/** The same with a prefix before each name that is set. */
export function withPrefix({ set, remove }: EnvChange, prefix: string): EnvChange {
  return { set: set.map((each) => ({ ...each, name: checkedName(prefix + text(each, 'name')) })), remove };
}

export interface EnvOptions {
  /** Which containers: * is any characters. */
  readonly pattern: string;
  readonly overwrite: boolean;
}

/** The strategic patch of a pod spec; undefined when no container matches. Throws INVALID_ARGUMENT. */
export function envPatch(podSpec: Tree, { set, remove }: EnvChange, { pattern, overwrite }: EnvOptions): JsonObject | undefined {
  const found = selectContainers(podSpec, pattern);
  if (found.length === 0) return undefined;
  if (!overwrite) for (const { container } of found) checkNotSet(container, set);
  // A variable has a value or takes it from somewhere: the other one goes.
  const items = new Map(
    set.map((each) => [each.name, 'value' in each ? { ...each, valueFrom: null } : { ...each, value: null }]),
  );
  const gone = remove.map((name) => ({ name, $patch: 'delete' }));
  return patchContainers(
    found.map((each) => {
      // New variables come last, where they may use the others.
      const kept = list(each.container, 'env').filter(({ name }) => !remove.includes(text({ name }, 'name')));
      const order = [...new Set([...kept.map(({ name }) => name as string), ...(items.keys() as Iterable<string>)])];
      const set = order.flatMap((name) => items.get(name) ?? []);
      return [each, { '$setElementOrder/env': order.map((name) => ({ name })), env: [...set, ...gone] }] as const;
    }),
  );
}

function checkNotSet(container: Tree, set: readonly JsonObject[]): void {
  for (const item of set) {
    const before = list(container, 'env').find((each) => each.name === item.name);
    if (before && text(before, 'value') !== text(item, 'value'))
      throw badRequest(`'${item.name}' already has a value (${text(before, 'value')}), and --overwrite is false`);
  }
}

/** Where a variable takes its value from, in kubectl's words. */
export function sourceText(variable: Tree): string {
  const from = tree(variable, 'valueFrom');
  const [source = ''] = Object.keys(from);
  const reference = tree(from, source);
  switch (source) {
    case 'configMapKeyRef':
      return `configmap ${text(reference, 'name')}, key ${text(reference, 'key')}`;
    case 'secretKeyRef':
      return `secret ${text(reference, 'name')}, key ${text(reference, 'key')}`;
    case 'fieldRef':
      return `field path ${text(reference, 'fieldPath')}`;
    case 'resourceFieldRef': {
      const container = text(reference, 'containerName');
      return `resource field ${container ? `${container}/` : ''}${text(reference, 'resource')}`;
    }
    default:
      return 'invalid valueFrom';
  }
}
