import type { PolicyRule } from '../../../api/generated/types.ts';
import type { RuleSet } from './rule-set.ts';
import { coversPath } from './rule-set.ts';

/**
 * The most combinations of verbs and resources that are checked of the rules of a role together; beyond them rules
 * count as not held.
 */
const MAX_PARTS = 10_000;

/**
 * The rules that a user does not hold in full, in a namespace or ("") everywhere, for the check against privilege
 * escalation. Each verb on each resource is checked separately, so several held roles together may cover a rule. Pure.
 */
export function missingRules(held: RuleSet, wanted: readonly PolicyRule[], namespace: string): PolicyRule[] {
  const own = [...(held.rules.get('') ?? []), ...(namespace === '' ? [] : (held.rules.get(namespace) ?? []))];
  let parts = 0;
  return wanted.filter((rule) => {
    parts += partsOf(rule);
    return parts > MAX_PARTS || !holds(own, rule);
  });
}

/**
 * What is missing of rules, as Kubernetes tells it: the verbs on each resource that are not held, and paths one by one.
 * Rules of more than all the parts that are checked stay as they are.
 */
export function missingParts(held: RuleSet, rules: readonly PolicyRule[], namespace: string): PolicyRule[] {
  const found = new Map<string, PolicyRule & { readonly verbs: string[] }>();
  const missing = missingRules(held, rules, namespace);
  if (missing.reduce((sum, rule) => sum + partsOf(rule), 0) > MAX_PARTS) return missing;
  for (const part of missing.flatMap(singleParts)) {
    if (missingRules(held, [part], namespace).length === 0) continue;
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

function holds(own: readonly PolicyRule[], rule: PolicyRule): boolean {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const names = resourceNames.length > 0 ? resourceNames : [undefined];
  const resourceHeld = (verb: string): boolean =>
    apiGroups.every((group) =>
      resources.every((resource) => names.every((name) => own.some((each) => hasPart(each, { verb, group, resource, name })))),
    );
  const pathHeld = (verb: string): boolean => nonResourceURLs.every((path) => own.some((each) => hasPath(each, verb, path)));
  return verbs.every((verb) => resourceHeld(verb) && pathHeld(verb));
}

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
