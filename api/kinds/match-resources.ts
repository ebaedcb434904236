import type { MatchResources } from '../generated/types.ts';
import { checkRuleWithOperations } from './admission-rules.ts';
import { checkOneOf, type Violations } from './checks.ts';
import { checkLabelSelector } from './selectors.ts';

const MATCH_POLICIES = ['Exact', 'Equivalent'];

/** As Kubernetes completes which requests a policy is about. */
export function defaultMatchResources(match: MatchResources | undefined): void {
  if (!match) return;
  match.matchPolicy ??= 'Equivalent';
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  for (const { ruleWithOperations } of [...(match.resourceRules ?? []), ...(match.excludeResourceRules ?? [])])
    if (ruleWithOperations?.rule) ruleWithOperations.rule.scope ??= '*';
}

/** Kubernetes' rules for it. */
export function checkMatchResources(out: Violations, at: string, match: MatchResources): void {
  checkLabelSelector(out, `${at}.namespaceSelector`, match.namespaceSelector);
  checkLabelSelector(out, `${at}.objectSelector`, match.objectSelector);
  checkOneOf(out, at, '.matchPolicy', match.matchPolicy, MATCH_POLICIES);
  for (const field of ['resourceRules', 'excludeResourceRules'] as const)
    for (const [i, { ruleWithOperations = {} }] of (match[field] ?? []).entries())
      checkRuleWithOperations(out, `${at}.${field}[${i}]`, ruleWithOperations);
}
