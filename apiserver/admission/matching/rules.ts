import type { NamedRuleWithOperations, RuleWithOperations } from '../../../api/generated/types.ts';
import { splitResource } from '../../../api/kinds/admission-rules.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import type { AdmissionAttributes } from '../dynamic.ts';

const ALL = '*';

/** Whether rules mean a kind in the version they name, or in any version that it is served in. */
export type MatchPolicy = 'Exact' | 'Equivalent';

type Request = Pick<AdmissionAttributes, 'operation' | 'kind' | 'subresource' | 'name'>;

/**
 * The apiVersion by which one of the rules means a request: that of the request, or, for "Equivalent", another one that
 * the kind is served in. Undefined when no rule does. The other versions are read when they are needed.
 */
export function matchedVersion(
  { rules, policy }: { readonly rules: readonly RuleWithOperations[]; readonly policy: MatchPolicy },
  request: Request,
  otherVersions: () => readonly string[],
): string | undefined {
  const { kind } = request;
  const isMeant = (apiVersion: string): boolean =>
    rules.some((rule) => ruleMatches(rule, { ...request, kind: { ...kind, apiVersion } }, 'Exact'));
  if (isMeant(kind.apiVersion)) return kind.apiVersion;
  return policy === 'Exact' || rules.length === 0 ? undefined : otherVersions().find(isMeant);
}

/**
 * Whether a request is one of those that a rule means, as Kubernetes has it. With "Equivalent" a rule that names
 * another version of the group means the kind as well: the same objects are behind all versions.
 */
export function ruleMatches({ operations = [], rule = {} }: RuleWithOperations, request: Request, policy: MatchPolicy): boolean {
  const { apiGroups = [], apiVersions = [], resources = [], scope = ALL } = rule;
  const { kind, operation } = request;
  return (
    names(operations, operation) &&
    names(apiGroups, groupOf(kind.apiVersion)) &&
    (policy === 'Equivalent' ? apiVersions.length > 0 : names(apiVersions, versionOf(kind.apiVersion))) &&
    resources.some((each) => namesResource(each, request)) &&
    (scope === ALL || scope === scopeOf(request))
  );
}

/** The same of a rule that may name single objects. One without a name of its own matches no such rule. */
export function namedRuleMatches(
  { resourceNames = [], ruleWithOperations = {} }: NamedRuleWithOperations,
  request: Request,
  policy: MatchPolicy,
): boolean {
  return (resourceNames.length === 0 || resourceNames.includes(request.name)) && ruleMatches(ruleWithOperations, request, policy);
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
