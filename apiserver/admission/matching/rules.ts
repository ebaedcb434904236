import type { NamedRuleWithOperations, RuleWithOperations } from '../../../api/generated/types.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import { kindId } from '../../../api/kinds/index.ts';
import { olderVersionsOf } from '../../../api/kinds/versions.ts';
import type { AdmissionAttributes } from '../dynamic.ts';

const ALL = '*';

/** Whether rules mean a kind in the version they name, or in any version that it is served in. */
export type MatchPolicy = 'Exact' | 'Equivalent';

type Request = Pick<AdmissionAttributes, 'operation' | 'kind' | 'requested' | 'subresource' | 'name'>;

/**
 * The apiVersion by which a rule means a request, undefined when it does not. With "Equivalent" a rule that names
 * another version means the kind as well: the same objects are behind all versions.
 */
function meantVersion({ operations = [], rule = {} }: RuleWithOperations, request: Request, policy: MatchPolicy) {
  const { apiGroups = [], apiVersions = [], resources = [], scope = ALL } = rule;
  const { kind, requested, operation } = request;
  const isElse = !names(operations, operation) || !resources.some((each) => namesResource(each, request));
  if (isElse || (scope !== ALL && scope !== scopeOf(request))) return undefined;
  const isNamed = (version: string): boolean => names(apiGroups, groupOf(version)) && names(apiVersions, versionOf(version));
  const own = kind.apiVersion;
  if (isNamed(own)) return own;
  if (requested !== undefined && isNamed(requested)) return requested;
  if (policy === 'Exact') return undefined;
  const older = olderVersionsOf(kindId(kind)).find(({ apiVersion }) => isNamed(apiVersion));
  return older?.apiVersion ?? (apiVersions.length > 0 && names(apiGroups, groupOf(own)) ? own : undefined);
}

/** The same of a rule that may name single objects. One without a name of its own matches no such rule. */
export function namedRuleVersion(
  { resourceNames = [], ruleWithOperations = {} }: NamedRuleWithOperations,
  request: Request,
  policy: MatchPolicy,
): string | undefined {
  const isOther = resourceNames.length > 0 && !resourceNames.includes(request.name);
  return isOther ? undefined : meantVersion(ruleWithOperations, request, policy);
}

export function namedRuleMatches(rule: NamedRuleWithOperations, request: Request, policy: MatchPolicy): boolean {
  return namedRuleVersion(rule, request, policy) !== undefined;
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
