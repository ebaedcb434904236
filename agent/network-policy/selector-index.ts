import type { LabelMatcher, Labels } from '../../api/meta/labels.ts';
import type { PolicyPod } from './facts.ts';

interface Selectors {
  readonly namespaces: LabelMatcher | undefined;
  readonly pods: LabelMatcher | undefined;
}

/**
 * Pure. The selectors that may choose a pod, of any number: those that require a label are found by the pod's labels,
 * so that a rule with thousands of peers costs no more for each pod than one with few.
 */
export function indexSelectors<S extends Selectors>(all: readonly S[]): (pod: PolicyPod) => Iterable<S> {
  const byLabel = new Map<string, S[]>();
  const others: S[] = [];
  for (const selectors of all) {
    const keys = requiredLabels('pod', selectors.pods) ?? requiredLabels('namespace', selectors.namespaces);
    if (keys === undefined) others.push(selectors);
    for (const key of new Set(keys)) {
      const known = byLabel.get(key);
      if (known) known.push(selectors);
      else byLabel.set(key, [selectors]);
    }
  }
  return function* (pod) {
    yield* others;
    if (byLabel.size === 0) return;
    for (const key of labelsOf('pod', pod.labels)) yield* byLabel.get(key) ?? [];
    for (const key of labelsOf('namespace', pod.namespaceLabels)) yield* byLabel.get(key) ?? [];
  };
}

/** What matches has one of these; undefined: not necessarily. */
function requiredLabels(of: string, matcher: LabelMatcher | undefined): string[] | undefined {
  for (const { key, operator, values } of matcher?.requirements ?? []) {
    if (operator === 'in') return values.map((value) => `${of} ${key}=${value}`);
    if (operator === 'exists') return [`${of} ${key}`];
  }
  return undefined;
}

const labelsOf = (of: string, labels: Labels): string[] =>
  Object.entries(labels).flatMap(([key, value]) => [`${of} ${key}`, `${of} ${key}=${value}`]);
