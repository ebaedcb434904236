import type { NamedRuleWithOperations, RuleWithOperations } from '../../../api/generated/types.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import type { AdmissionAttributes } from '../dynamic.ts';

const ALL = '*';

/** Whether rules mean a kind in the version they name, or in any version that it is served in. */
export type MatchPolicy = 'Exact' | 'Equivalent';

type Request = Pick<AdmissionAttributes, 'operation' | 'kind' | 'subresource' | 'name'>;

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
  const slash = text.indexOf('/');
  const resource = slash < 0 ? text : text.slice(0, slash);
  if (resource !== ALL && resource !== kind.plural) return false;
  const part = slash < 0 ? '' : text.slice(slash + 1);
  return part === subresource || part === ALL;
}

/** A Namespace belongs to the cluster, as every kind without namespaces. */
function scopeOf({ kind }: Request): string {
  return kind.namespaced ? 'Namespaced' : 'Cluster';
}

export function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf('/') + 1);
}
