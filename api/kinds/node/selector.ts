import type { Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod } from '../../generated/types.ts';

export type NodePredicate = (node: Node) => boolean;

/** True when one of the terms matches; a selector without terms matches nothing. */
export function compileNodeSelector(selector: NodeSelector): NodePredicate {
  const terms = (selector.nodeSelectorTerms ?? []).map(compileTerm);
  return (node) => terms.some((matches) => matches(node));
}

/** True when every requirement holds; a term without requirements matches nothing. */
export function compileTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): NodePredicate {
  const requirements = [
    ...matchExpressions.map((requirement) => compileRequirement(requirement, labelOf)),
    ...matchFields.map((requirement) => compileRequirement(requirement, fieldOf)),
  ];
  if (requirements.length === 0) return () => false;
  return (node) => requirements.every((holds) => holds(node));
}

/** What a pod's `nodeSelector` and required node affinity ask of its node; undefined when they ask nothing. */
export function requiredNodes({ spec }: Pod): NodePredicate | undefined {
  const labels = spec?.nodeSelector ?? {};
  const selector = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const byLabels = Object.keys(labels).length > 0 ? compileLabels(labels) : undefined;
  const byTerms = selector ? compileNodeSelector(selector) : undefined;
  if (byLabels && byTerms) return (node) => byLabels(node) && byTerms(node);
  return byLabels ?? byTerms;
}

/** Every label must be there with its value. */
export function compileLabels(labels: Readonly<Record<string, string>>): NodePredicate {
  const wanted = Object.entries(labels);
  return (node) => wanted.every(([key, value]) => node.metadata?.labels?.[key] === value);
}

/** A label may have the name of a method of all objects: "constructor". */
export function labelOf(key: string, { metadata }: Node): string | undefined {
  const labels = metadata?.labels;
  return labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

type Lookup = (key: string, node: Node) => string | undefined;

/** The only field that Kubernetes lets a node selector name. */
function fieldOf(key: string, node: Node): string | undefined {
  return key === 'metadata.name' ? node.metadata?.name : undefined;
}

function compileRequirement({ key = '', operator, values = [] }: NodeSelectorRequirement, lookup: Lookup): NodePredicate {
  const accepted = new Set(values);
  const bound = integer(values[0]);
  const compare = (holds: (actual: number, limit: number) => boolean): NodePredicate => {
    return (node) => {
      const actual = integer(lookup(key, node));
      return actual !== undefined && bound !== undefined && holds(actual, bound);
    };
  };
  switch (operator) {
    case 'In':
      return (node) => accepted.has(lookup(key, node) ?? missing);
    case 'NotIn':
      return (node) => !accepted.has(lookup(key, node) ?? missing);
    case 'Exists':
      return (node) => lookup(key, node) !== undefined;
    case 'DoesNotExist':
      return (node) => lookup(key, node) === undefined;
    case 'Gt':
      return compare((actual, limit) => actual > limit);
    case 'Lt':
      return compare((actual, limit) => actual < limit);
    default:
      return () => false;
  }
}

/** No label value can look like this, so that an absent label is in no set. */
const missing = '\0';

function integer(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
}
