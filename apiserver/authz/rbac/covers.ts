import type { PolicyRule } from '../../../api/generated/types.ts';
import type { RuleSet } from './rule-set.ts';
import { coversPath } from './rule-set.ts';

/**
 * The most combinations of verbs and resources that are checked of the rules of a role together; beyond them rules
 * count as not held.
 */
const MAX_PARTS = 10_000;
/**
 * The most comparisons of parts with entries of held rules for one question, a tenth of a second. A user who may write
 * roles may hold any number of rules, and each part that is not held is compared with all of them.
 */
const MAX_COMPARISONS = 5_000_000;

/** Held rules during one question. */
interface Comparison {
  readonly own: readonly PolicyRule[];
  left: number;
}

function beginComparison(held: RuleSet, namespace: string): Comparison {
  const own = [...(held.rules.get('') ?? []), ...(namespace === '' ? [] : (held.rules.get(namespace) ?? []))];
  return { own, left: MAX_COMPARISONS };
}

/**
 * The rules that a user does not hold in full, in a namespace or ("") everywhere, for the check against privilege
 * escalation. Each verb on each resource is checked separately, so several held roles together may cover a rule. Pure.
 */
export function missingRules(held: RuleSet, wanted: readonly PolicyRule[], namespace: string): PolicyRule[] {
  return missingIn(beginComparison(held, namespace), wanted);
}

function missingIn(comparison: Comparison, wanted: readonly PolicyRule[]): PolicyRule[] {
  let parts = 0;
  return wanted.filter((rule) => {
    parts += partsOf(rule);
    return parts > MAX_PARTS || !holds(comparison, rule);
  });
}

/**
 * What is missing of rules, as Kubernetes tells it: the verbs on each resource that are not held, and paths one by one.
 * Rules of more than all the parts that are checked stay as they are.
 */
export function missingParts(held: RuleSet, rules: readonly PolicyRule[], namespace: string): PolicyRule[] {
  const found = new Map<string, PolicyRule & { readonly verbs: string[] }>();
  const comparison = beginComparison(held, namespace);
  const missing = missingIn(comparison, rules);
  if (comparison.left <= 0 || missing.reduce((sum, rule) => sum + partsOf(rule), 0) > MAX_PARTS) return missing;
  for (const part of missing.flatMap(singleParts)) {
    if (holds(comparison, part)) continue;
    const { verbs = [], ...about } = part;
    const key = JSON.stringify(part.nonResourceURLs ? part : about);
    const known = found.get(key);
    if (known === undefined) found.set(key, { ...about, verbs: [...verbs] });
    else known.verbs.push(...verbs.filter((verb) => !known.verbs.includes(verb)));
  }
  return [...found.values()];
}

function singleParts(rule: PolicyRule): PolicyRule[] {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const names: PolicyRule[] = resourceNames.length > 0 ? resourceNames.map((name) => ({ resourceNames: [name] })) : [{}];
  const abouts: PolicyRule[] = [
    ...apiGroups.flatMap((group) =>
      resources.flatMap((resource) => names.map((name) => ({ apiGroups: [group], resources: [resource], ...name }))),
    ),
    ...nonResourceURLs.map((path) => ({ nonResourceURLs: [path] })),
  ];
  return abouts.flatMap((about) => verbs.map((verb) => ({ ...about, verbs: [verb] })));
}

function partsOf({ verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): number {
  return verbs.length * (apiGroups.length * resources.length * Math.max(resourceNames.length, 1) + nonResourceURLs.length);
}

function holds(comparison: Comparison, rule: PolicyRule): boolean {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const names = resourceNames.length > 0 ? resourceNames : [undefined];
  const resourceHeld = (verb: string): boolean =>
    apiGroups.every((group) =>
      resources.every((resource) =>
        names.every((name) => hasOne(comparison, (each) => hasPart(each, { verb, group, resource, name }))),
      ),
    );
  const pathHeld = (verb: string): boolean =>
    nonResourceURLs.every((path) => hasOne(comparison, (each) => hasPath(each, verb, path)));
  return verbs.every((verb) => resourceHeld(verb) && pathHeld(verb));
}

/** False as well once all comparisons of the question are used. */
function hasOne(comparison: Comparison, matches: (rule: PolicyRule) => boolean): boolean {
  for (const each of comparison.own) {
    if (comparison.left <= 0) return false;
    comparison.left -= entriesOf(each);
    if (matches(each)) return true;
  }
  return false;
}

const entriesOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number =>
  1 +
  (verbs?.length ?? 0) +
  (apiGroups?.length ?? 0) +
  (resources?.length ?? 0) +
  (resourceNames?.length ?? 0) +
  (nonResourceURLs?.length ?? 0);

interface Part {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** Undefined: every name. */
  readonly name: string | undefined;
}

const has = (list: readonly string[] | undefined, value: string): boolean =>
  list !== undefined && (list.includes(value) || list.includes('*'));

function hasPart(rule: PolicyRule, { verb, group, resource, name }: Part): boolean {
  if (!has(rule.verbs, verb) || !has(rule.apiGroups, group)) return false;
  const slash = resource.indexOf('/');
  const everywhere = slash > 0 && rule.resources?.includes(`*${resource.slice(slash)}`);
  if (!has(rule.resources, resource) && !everywhere) return false;
  const { resourceNames = [] } = rule;
  return resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name));
}

const hasPath = ({ verbs, nonResourceURLs = [] }: PolicyRule, verb: string, path: string): boolean =>
  has(verbs, verb) && nonResourceURLs.some((allowed) => coversPath(allowed, path));
