import { duplicate, invalidSize, invalidValue, required } from '../errors/violations.ts';
import type { MatchCondition, RuleWithOperations } from '../generated/types.ts';
import { qualifiedNameError } from '../meta/names.ts';
import { checkOneOf, checkRule, type Violations } from './checks.ts';

const ALL = '*';
const OPERATIONS = [ALL, 'CREATE', 'UPDATE', 'DELETE', 'CONNECT'];
const SCOPES = ['Cluster', 'Namespaced', ALL];
const MOST_CONDITIONS = 64;

/** The operations, groups, versions and resources of a rule of admission: Kubernetes' rules. */
export function checkRuleWithOperations(out: Violations, at: string, { operations = [], rule = {} }: RuleWithOperations): void {
  const { apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  checkWords(out, `${at}.operations`, operations);
  for (const [i, operation] of operations.entries()) checkOneOf(out, at, `.operations[${i}]`, operation, OPERATIONS);
  checkWords(out, `${at}.apiGroups`, apiGroups);
  checkWords(out, `${at}.apiVersions`, apiVersions);
  checkFilled(out, `${at}.apiVersions`, apiVersions);
  checkResources(out, `${at}.resources`, resources);
  checkOneOf(out, at, '.scope', scope, SCOPES);
}

/** At least one, and "*" alone. */
function checkWords(out: Violations, at: string, words: readonly string[]): void {
  if (words.length === 0) out.push(required(at, 'at least one'));
  if (words.length > 1 && words.includes(ALL)) out.push(invalidValue(at, words.join(', '), 'if "*" is there, it must be alone'));
}

function checkFilled(out: Violations, at: string, words: readonly string[]): void {
  for (const [i, word] of words.entries()) if (word === '') out.push(required(`${at}[${i}]`));
}

function checkResources(out: Violations, at: string, resources: readonly string[]): void {
  if (resources.length === 0) out.push(required(at, 'at least one'));
  checkFilled(out, at, resources);
  const wide = new Set<string>();
  for (const [i, text] of resources.entries()) {
    const [resource, subresource] = splitResource(text);
    if (subresource === undefined) continue;
    for (const wider of [`${resource}/*`, `*/${subresource}`])
      if (wide.has(wider)) out.push(invalidValue(`${at}[${i}]`, text, `if "${wider}" is there, it must not be`));
    if (subresource === ALL || resource === ALL) wide.add(text);
  }
  if (resources.length > 1 && resources.includes('*/*'))
    out.push(invalidValue(at, resources.join(', '), 'if "*/*" is there, it must be alone'));
  if (resources.includes(ALL) && resources.some((text) => text !== ALL && !text.includes('/')))
    out.push(invalidValue(at, resources.join(', '), 'if "*" is there, no other resource without a subresource may be'));
}

/** A resource of a rule in two: "pods/status" is "pods" and "status", "pods" has no subresource. */
export function splitResource(text: string): [string, string | undefined] {
  const slash = text.indexOf('/');
  return slash < 0 ? [text, undefined] : [text.slice(0, slash), text.slice(slash + 1)];
}

/** Names and number; that the expressions compile is checked by the server. */
export function checkMatchConditions(out: Violations, at: string, conditions: readonly MatchCondition[]): void {
  if (conditions.length > MOST_CONDITIONS) out.push(invalidSize(at, MOST_CONDITIONS, 'conditions'));
  const names = new Set<string>();
  for (const [i, { name = '', expression = '' }] of conditions.entries()) {
    if (name === '') out.push(required(`${at}[${i}].name`));
    else checkRule(out, at, `[${i}].name`, name, qualifiedNameError(name));
    if (names.has(name)) out.push(duplicate(`${at}[${i}].name`, name));
    names.add(name);
    if (expression.trim() === '') out.push(required(`${at}[${i}].expression`));
  }
}
