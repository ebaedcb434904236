import type { PlacementAudience } from '../../api/generated/types.ts';

/** Which names an explanation may tell: those of objects that its reader may list. Of the others it gives numbers. */
export interface Audience {
  /** Whether names and labels of nodes may be told. */
  readonly seesNodes: boolean;
  /** Whether pods of a namespace may be named. */
  seesPodsOf(namespace: string): boolean;
}

/** For tests, and for readers that may list everything. */
export const everyone: Audience = { seesNodes: true, seesPodsOf: () => true };

/** As the API server tells it; without a word of it nothing may be named. */
export function audienceOf({ allPods = false, podNamespaces = [], nodes = false }: PlacementAudience = {}): Audience {
  const seen = new Set(podNamespaces);
  return { seesNodes: nodes, seesPodsOf: (namespace) => allPods || seen.has(namespace) };
}

const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'));

/** Names of pods by their keys, and how many there are of namespaces that the reader does not see. */
export function wordPods(keys: readonly string[], audience: Audience, word = (key: string): string => key): string {
  const seen = keys.filter((key) => audience.seesPodsOf(namespaceOf(key)));
  const hidden = keys.length - seen.length;
  return [...seen.map(word), ...(hidden > 0 ? [wordHidden(hidden)] : [])].join(', ');
}

/** One of the pods, a named one if there is any, and how many more there are. */
export function wordFirstPod(keys: readonly string[], audience: Audience): string {
  const first = keys.find((key) => audience.seesPodsOf(namespaceOf(key))) ?? wordHidden(1);
  return keys.length > 1 ? `${first} and ${keys.length - 1} more` : first;
}

function wordHidden(count: number): string {
  return count === 1 ? 'a pod that is not shown' : `${count} pods that are not shown`;
}
