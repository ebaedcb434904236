import type { FieldViolation } from '../errors/api-error.ts';
import { invalidValue, required } from '../errors/violations.ts';
import type { ClusterRole, PolicyRule, Role } from '../generated/types.ts';
import { dateCell, nameColumn } from './cells.ts';
import type { Violations } from './checks.ts';
import type { Column } from './kind.ts';
import { checkLabelSelector } from './selectors.ts';

/** The group of roles and bindings, and of the users and groups that bindings name. */
export const rbacGroup = 'rbac.authorization.k8s.io';

export function validateRole({ rules = [] }: Role): FieldViolation[] {
  const out: Violations = [];
  checkRules(out, rules, true);
  return out;
}

export function validateClusterRole({ rules = [], aggregationRule }: ClusterRole): FieldViolation[] {
  const out: Violations = [];
  checkRules(out, rules, false);
  if (!aggregationRule) return out;
  const { clusterRoleSelectors = [] } = aggregationRule;
  if (clusterRoleSelectors.length === 0) out.push(required('aggregationRule.clusterRoleSelectors', 'name at least one selector'));
  for (const [i, selector] of clusterRoleSelectors.entries())
    checkLabelSelector(out, `aggregationRule.clusterRoleSelectors[${i}]`, selector);
  return out;
}

/**
 * The most combinations of groups and resources in a role: the authorizer keeps them for each user who has the role.
 * Roles of real programs have hundreds.
 */
const MAX_RESOURCES = 10_000;

function checkRules(out: Violations, rules: readonly PolicyRule[], isNamespaced: boolean): void {
  const combinations = rules.reduce((sum, { apiGroups = [], resources = [] }) => sum + apiGroups.length * resources.length, 0);
  if (combinations > MAX_RESOURCES) {
    const why = `at most ${MAX_RESOURCES} combinations of groups and resources, not ${combinations}: use "*", or several roles`;
    out.push(invalidValue('rules', `${rules.length} rules`, why));
    return;
  }
  for (const [i, rule] of rules.entries()) checkRule(out, `rules[${i}]`, rule, isNamespaced);
}

/** A rule is about resources or about paths, never both; a role of a namespace has none about paths. */
function checkRule(out: Violations, at: string, rule: PolicyRule, isNamespaced: boolean): void {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  if (verbs.length === 0) out.push(required(`${at}.verbs`, 'name at least one verb'));
  if (nonResourceURLs.length > 0) {
    const paths = nonResourceURLs.join(', ');
    if (isNamespaced) out.push(invalidValue(`${at}.nonResourceURLs`, paths, 'a role of a namespace cannot allow paths'));
    if (apiGroups.length + resources.length + resourceNames.length > 0)
      out.push(invalidValue(`${at}.nonResourceURLs`, paths, 'a rule is about resources or about paths, not both'));
    return;
  }
  if (apiGroups.length === 0) out.push(required(`${at}.apiGroups`, 'name at least one group; "" is that of pods'));
  if (resources.length === 0) out.push(required(`${at}.resources`, 'name at least one resource'));
}

/** The columns of roles and cluster roles, as kubectl shows them. */
export const roleColumns: readonly Column<Role | ClusterRole>[] = [
  nameColumn,
  { name: 'CREATED AT', type: 'string', priority: 0, cell: ({ metadata }) => dateCell(metadata?.creationTimestamp) },
];
