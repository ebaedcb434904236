import type { LabelSelector, MatchResources, RuleWithOperations } from '../generated/types.ts';
import { checkRuleWithOperations } from './admission-rules.ts';
import { checkOneOf, type Violations } from './checks.ts';
import { checkLabelSelector } from './selectors.ts';

const MATCH_POLICIES = ['Exact', 'Equivalent'];
const FAILURE_POLICIES = ['Fail', 'Ignore'];

/** Which requests a policy or a webhook is about, beside its rules. */
interface Selection {
  matchPolicy?: string;
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
}

/** Completes a selection, and the rules beside it, as Kubernetes does. */
export function defaultSelection(selection: Selection, rules: readonly RuleWithOperations[]): void {
  selection.matchPolicy ||= 'Equivalent';
  selection.namespaceSelector ??= {};
  selection.objectSelector ??= {};
  for (const { rule } of rules) if (rule) rule.scope ||= '*';
}

/** Kubernetes' rules for it. */
export function checkSelection(out: Violations, at: string, selection: Selection): void {
  checkLabelSelector(out, `${at}.namespaceSelector`, selection.namespaceSelector);
  checkLabelSelector(out, `${at}.objectSelector`, selection.objectSelector);
  checkOneOf(out, at, '.matchPolicy', selection.matchPolicy, MATCH_POLICIES);
}

/** What becomes of a request that a policy or a webhook gives no answer for. */
export function checkFailurePolicy(out: Violations, at: string, failurePolicy: string | undefined): void {
  checkOneOf(out, at, '.failurePolicy', failurePolicy, FAILURE_POLICIES);
}

/** Completes which requests a policy is about, as Kubernetes does. */
export function defaultMatchResources(match: MatchResources | undefined): void {
  if (!match) return;
  const named = [...(match.resourceRules ?? []), ...(match.excludeResourceRules ?? [])];
  defaultSelection(
    match,
    named.flatMap(({ ruleWithOperations }) => ruleWithOperations ?? []),
  );
}

/** Kubernetes' rules for it. */
export function checkMatchResources(out: Violations, at: string, match: MatchResources): void {
  checkSelection(out, at, match);
  for (const field of ['resourceRules', 'excludeResourceRules'] as const)
    for (const [i, { ruleWithOperations = {} }] of (match[field] ?? []).entries())
      checkRuleWithOperations(out, `${at}.${field}[${i}]`, ruleWithOperations);
}
