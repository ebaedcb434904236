import { badRequest, notFound } from '../../api/errors/index.ts';
import type { Node } from '../../api/generated/types.ts';
import type { Session } from '../session.ts';

export interface NodeSelection {
  readonly selector?: string;
  readonly all?: boolean;
}

/** The nodes that names ("n1", "node/n1") or selectors mean; every name must exist. `verb` is for messages. */
export async function findNodes(
  { client }: Session,
  words: readonly string[],
  { selector, all }: NodeSelection,
  verb: string,
): Promise<Node[]> {
  const chosen = [words.length > 0, selector !== undefined, all === true].filter(Boolean).length;
  if (chosen === 0) throw badRequest(`name the nodes to ${verb}, or choose them with -l`);
  if (chosen > 1) throw badRequest('names, -l and --all cannot be given together');
  const { listAll } = await import('../../client/index.ts');
  const { items } = await listAll(client.nodes, selector === undefined ? {} : { labelSelector: selector });
  if (words.length === 0) {
    if (items.length === 0) process.stdout.write('No resources found\n');
    return items;
  }
  const known = new Map(items.map((node) => [node.metadata?.name ?? '', node]));
  return [...new Set(words.map(nameOf))].map((name) => {
    const node = known.get(name);
    if (!node) throw notFound({ kind: 'Node', name });
    return node;
  });
}

function nameOf(word: string): string {
  const [type, name, ...rest] = word.split('/');
  if (name === undefined) return word;
  if (!['node', 'nodes', 'no'].includes(type ?? '') || name === '' || rest.length > 0)
    throw badRequest(`"${word}" names no node; write NAME or node/NAME`);
  return name;
}
