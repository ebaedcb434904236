import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { parseQuantity } from '../../api/meta/quantity.ts';
import type { Client } from '../../client/index.ts';
import { list, type Tree, text, tree } from '../describe/json.ts';
import { describeFailure } from '../program/failure.ts';
import { selectContainers } from './containers.ts';
import { sourceText } from './env.ts';

/** What the values of variables are looked up in. */
export interface EnvSources {
  readonly object: JsonObject;
  readonly namespace: string;
  readonly client: Client | undefined;
}

/**
 * The variables of the containers as `--list` prints them; with a client the values that come from elsewhere are looked
 * up. Gives what could not be, a sentence each.
 */
export async function listEnv(
  podSpec: Tree,
  { title, pattern }: { readonly title: string; readonly pattern: string },
  sources: EnvSources,
): Promise<{ readonly lines: readonly string[]; readonly failures: readonly string[] }> {
  const [lines, failures]: [string[], string[]] = [[], []];
  for (const { container } of selectContainers(podSpec, pattern)) {
    lines.push(`# ${title}, container ${text(container, 'name')}`);
    for (const variable of list(container, 'env')) {
      const name = text(variable, 'name');
      if (variable.valueFrom === undefined) lines.push(`${name}=${text(variable, 'value')}`);
      else
        try {
          const value =
            sources.client && (await lookUp(tree(variable, 'valueFrom'), container, { ...sources, client: sources.client }));
          lines.push(value === undefined ? `# ${name} from ${sourceText(variable)}` : `${name}=${value}`);
        } catch (error) {
          lines.push(`# ${name} from ${sourceText(variable)}`);
          failures.push(`error retrieving reference for ${name}: ${describeFailure(error)}`);
        }
    }
  }
  return { lines, failures };
}

async function lookUp(
  from: Tree,
  container: Tree,
  { object, namespace, client }: EnvSources & { readonly client: Client },
): Promise<string> {
  const [source = ''] = Object.keys(from);
  const reference = tree(from, source);
  if (source === 'fieldRef') return fieldOf(object, text(reference, 'fieldPath'));
  if (source === 'resourceFieldRef') return amountOf(container, reference);
  const kind = source === 'secretKeyRef' ? 'Secret' : 'ConfigMap';
  const [name, key] = [text(reference, 'name'), text(reference, 'key')];
  const value = text(await client.objects.get(kind, { namespace, name }), 'data', key);
  if (value === '') throw badRequest(`key ${key} not found in ${kind === 'Secret' ? 'secret' : 'config map'} ${name}`);
  return kind === 'Secret' ? Buffer.from(value, 'base64').toString('utf8') : value;
}

/** The metadata that a path names; a template does not know more. */
function fieldOf(object: Tree, path: string): string {
  const [, part, key] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? [];
  if (part !== undefined) return text(object, 'metadata', part, key!);
  if (/^metadata\.(name|namespace|uid)$/.test(path)) return text(object, ...path.split('.'));
  throw badRequest(`unsupported fieldPath: ${path}`);
}

/** A limit or request in units of the divisor, rounded up. */
function amountOf(container: Tree, reference: Tree): string {
  const [part = '', ...name] = text(reference, 'resource').split('.');
  const amount = text(container, 'resources', part, name.join('.'));
  if (amount === '') throw badRequest(`the container has no ${text(reference, 'resource')}`);
  const divisor = text(reference, 'divisor');
  const [value, by] = [parseQuantity(amount).nanos, parseQuantity(divisor && divisor !== '0' ? divisor : '1').nanos];
  return String((value + by - 1n) / by);
}
