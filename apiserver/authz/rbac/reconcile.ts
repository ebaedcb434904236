import { isDeepStrictEqual } from 'node:util';
import type { ClusterRole, ClusterRoleBinding } from '../../../api/generated/types.ts';
import { autoUpdate } from './built-in-roles.ts';
import { missingRules } from './covers.ts';
import { RuleSet } from './rule-set.ts';

/**
 * A stored role or binding, completed by what the built-in one has; unchanged when its annotation disables this.
 * Additions of users stay. Pure.
 */
export function withMissing<T extends ClusterRole & ClusterRoleBinding>(wanted: T, found: T): T {
  if (found.metadata?.annotations?.[autoUpdate] === 'false') return structuredClone(found);
  const next = structuredClone(found);
  const { labels = {}, annotations = {} } = wanted.metadata ?? {};
  next.metadata = {
    ...next.metadata,
    labels: { ...next.metadata?.labels, ...labels },
    annotations: { ...annotations, ...next.metadata?.annotations },
  };
  if (wanted.aggregationRule) next.aggregationRule = structuredClone(wanted.aggregationRule);
  else if (wanted.rules) {
    const missing = missingRules(new RuleSet(new Map([['', found.rules ?? []]])), wanted.rules, '');
    if (missing.length > 0) next.rules = [...(found.rules ?? []), ...structuredClone(missing)];
  }
  const subjects = (wanted.subjects ?? []).filter(
    ({ kind, name }) => !found.subjects?.some((each) => isDeepStrictEqual([each.kind, each.name], [kind, name])),
  );
  if (subjects.length > 0) next.subjects = [...(found.subjects ?? []), ...structuredClone(subjects)];
  return next;
}
