import type { Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod } from '../../api/generated/types.ts';
import { compileNodeSelector, labelOf } from '../../api/kinds/node/selector.ts';

/**
 * What a pod's node selector and required node affinity ask for and the node does not have, and what it has instead.
 */
export function explainPodMismatch({ spec }: Pod, node: Node): string {
  const lacking = Object.entries(spec?.nodeSelector ?? {}).filter(([key, value]) => node.metadata?.labels?.[key] !== value);
  const selector = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const terms = selector && !compileNodeSelector(selector)(node) ? (selector.nodeSelectorTerms ?? []) : undefined;
  const wanted = lacking.map(([key, value]) => `${key}=${value}`);
  if (terms) wanted.push(wanted.length > 0 && terms.length > 1 ? `(${wordTerms(terms)})` : wordTerms(terms));
  return wordMismatch(wanted.join(' and '), [...lacking.map(([key]) => key), ...keysOf(terms ?? [])], node);
}

/** The same of a volume's node affinity. */
export function explainSelectorMismatch({ nodeSelectorTerms = [] }: NodeSelector, node: Node): string {
  return wordMismatch(wordTerms(nodeSelectorTerms), keysOf(nodeSelectorTerms), node);
}

function wordMismatch(wanted: string, keys: readonly string[], node: Node): string {
  const has = [...new Set(keys)].map((key) => {
    const value = key === 'metadata.name' ? node.metadata?.name : labelOf(key, node);
    return value === undefined ? `no ${key}` : `${key}=${value}`;
  });
  return has.length > 0 ? `needs ${wanted}; the node has ${has.join(', ')}` : `needs ${wanted}`;
}

function wordTerms(terms: readonly NodeSelectorTerm[]): string {
  return terms.length === 0 ? 'what no node has: there is no term' : terms.map(wordTerm).join(', or ');
}

function wordTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): string {
  const words = [...matchExpressions, ...matchFields].map(wordRequirement);
  return words.length === 0 ? 'what no node has: the term is empty' : words.join(' and ');
}

function wordRequirement({ key = '', operator, values = [] }: NodeSelectorRequirement): string {
  const list = values.join(', ');
  switch (operator) {
    case 'In':
      return values.length === 1 ? `${key}=${list}` : `${key} in (${list})`;
    case 'NotIn':
      return `${key} not in (${list})`;
    case 'Exists':
      return `a label ${key}`;
    case 'DoesNotExist':
      return `no label ${key}`;
    case 'Gt':
      return `${key} > ${list}`;
    default:
      return `${key} < ${list}`;
  }
}

function keysOf(terms: readonly NodeSelectorTerm[]): string[] {
  return terms
    .flatMap(({ matchExpressions = [], matchFields = [] }) => [...matchExpressions, ...matchFields])
    .map(({ key = '' }) => key);
}
