import type { NamedRuleWithOperations, Rule, RuleWithOperations } from '../../../api/generated/types.ts';
import { splitResource } from '../../../api/kinds/admission-rules.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import type { AdmissionAttributes } from '../dynamic.ts';

const ALL = '*';

/** Whether rules mean a kind in the version they name, or in any version that it is served in. */
export type MatchPolicy = 'Exact' | 'Equivalent';

type Request = Pick<AdmissionAttributes, 'operation' | 'kind' | 'requested' | 'subresource' | 'name'>;

/** Gives every version that a kind is served in, the preferred one first. */
export type ServedVersions = (kind: Kind) => readonly string[];

/**
 * The apiVersion by which one of the rules means a request: that of the request, or, for "Equivalent", the first other
 * one that the kind is served in: the same objects are behind all versions. Undefined when no rule does.
 */
export function matchedVersion(
  { rules, policy }: { readonly rules: readonly RuleWithOperations[]; readonly policy: MatchPolicy },
  request: Request,
  versionsOf: ServedVersions,
): string | undefined {
  const concerned = rules.filter((rule) => meansWork(rule, request));
  const isMeant = (apiVersion: string): boolean => concerned.some(({ rule }) => namesVersion(rule, apiVersion));
  const own = requestedVersion(request);
  if (isMeant(own)) return own;
  return policy === 'Exact' || concerned.length === 0 ? undefined : versionsOf(request.kind).find(isMeant);
}

/** The apiVersion that a request names. */
export function requestedVersion({ requested, kind }: Pick<Request, 'kind' | 'requested'>): string {
  return requested ?? kind.apiVersion;
}

/** The same of a rule that may name single objects. One without a name of its own matches no such rule. */
export function namedRuleVersion(
  { resourceNames = [], ruleWithOperations = {} }: NamedRuleWithOperations,
  request: Request,
  policy: MatchPolicy,
  versionsOf: ServedVersions,
): string | undefined {
  const isOther = resourceNames.length > 0 && !resourceNames.includes(request.name);
  return isOther ? undefined : matchedVersion({ rules: [ruleWithOperations], policy }, request, versionsOf);
}

/** Whether a rule means what a request does, whatever the versions. */
function meansWork({ operations = [], rule = {} }: RuleWithOperations, request: Request): boolean {
  const { resources = [], scope = ALL } = rule;
  return (
    names(operations, request.operation) &&
    resources.some((each) => namesResource(each, request)) &&
    (scope === ALL || scope === scopeOf(request))
  );
}

function namesVersion({ apiGroups = [], apiVersions = [] }: Rule = {}, apiVersion: string): boolean {
  return names(apiGroups, groupOf(apiVersion)) && names(apiVersions, versionOf(apiVersion));
}

function names(words: readonly string[], word: string): boolean {
  return words.includes(word) || words.includes(ALL);
}

/** A text without "/" means objects; behind "/" stands the subresource, where "*" means any, and the object too. */
function namesResource(text: string, { kind, subresource }: Request): boolean {
  const [resource, part = ''] = splitResource(text);
  return (resource === ALL || resource === kind.plural) && (part === ALL || part === subresource);
}

/** A Namespace belongs to the cluster, as every kind without namespaces. */
function scopeOf({ kind }: Request): string {
  return kind.namespaced ? 'Namespaced' : 'Cluster';
}

export function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf('/') + 1);
}
