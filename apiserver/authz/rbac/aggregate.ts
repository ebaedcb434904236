import { isDeepStrictEqual } from 'node:util';
import type { ClusterRole, PolicyRule } from '../../../api/generated/types.ts';
import { labelSelectorMatches } from '../../../api/meta/labels.ts';

/** A cluster role whose rules differ from the union of its aggregated roles. */
export interface StaleRole {
  readonly name: string;
  readonly rules: readonly PolicyRule[];
}

/**
 * What is to be written so that every cluster role with an aggregationRule has the rules of all that it selects, each
 * once, in the order of their names. One that selects another such role is right when that one is: ask again after
 * writing. Pure.
 */
export function decideAggregation(roles: readonly ClusterRole[]): StaleRole[] {
  const sorted = roles.toSorted((a, b) => ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1));
  return sorted.flatMap((role) => {
    const selectors = role.aggregationRule?.clusterRoleSelectors;
    const name = role.metadata?.name ?? '';
    if (!selectors || role.metadata?.deletionTimestamp) return [];
    const parts = sorted.filter(
      (each) => each !== role && selectors.some((selector) => labelSelectorMatches(selector, each.metadata?.labels)),
    );
    const rules = unique(parts.flatMap((part) => part.rules ?? []));
    return isDeepStrictEqual(rules, role.rules ?? []) ? [] : [{ name, rules }];
  });
}

function unique(rules: readonly PolicyRule[]): PolicyRule[] {
  const kept: PolicyRule[] = [];
  for (const rule of rules) if (!kept.some((each) => isDeepStrictEqual(each, rule))) kept.push(rule);
  return kept;
}
