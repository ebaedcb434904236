import type { NamedRuleWithOperations, Rule, RuleWithOperations } from '../../../api/generated/types.ts';
import { splitResource } from '../../../api/kinds/admission-rules.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import { kindId } from '../../../api/kinds/index.ts';
import { olderVersionsOf } from '../../../api/kinds/versions.ts';
import type { AdmissionAttributes } from '../dynamic.ts';

const ALL = '*';

/** Whether rules mean a kind in the version they name, or in any version that it is served in. */
export type MatchPolicy = 'Exact' | 'Equivalent';

type Request = Pick<AdmissionAttributes, 'operation' | 'kind' | 'requested' | 'subresource' | 'name'>;

/**
 * The apiVersion by which one of the rules means a request: the stored one, that of the request, or, for "Equivalent",
 * another one that the kind is served in. Undefined when no rule does. Other versions are read when they are needed.
 */
export function matchedVersion(
  { rules, policy }: { readonly rules: readonly RuleWithOperations[]; readonly policy: MatchPolicy },
  request: Request,
  otherVersions: () => readonly string[],
): string | undefined {
  const { kind, requested } = request;
  const concerned = rules.filter((rule) => meansWork(rule, request));
  const isMeant = (apiVersion: string): boolean => concerned.some(({ rule }) => namesVersion(rule, apiVersion));
  if (isMeant(kind.apiVersion)) return kind.apiVersion;
  if (requested !== undefined && isMeant(requested)) return requested;
  return policy === 'Exact' || concerned.length === 0 ? undefined : otherVersions().find(isMeant);
}

/**
 * The same of one rule. With "Equivalent" a rule that names another version of the group means the kind as well: the
 * same objects are behind all versions.
 */
export function ruleVersion(rule: RuleWithOperations, request: Request, policy: MatchPolicy): string | undefined {
  const { apiVersion } = request.kind;
  const older = () => olderVersionsOf(kindId(request.kind)).map((each) => each.apiVersion);
  const found = matchedVersion({ rules: [rule], policy }, request, older);
  if (found !== undefined || policy === 'Exact' || !meansWork(rule, request)) return found;
  const { apiGroups = [], apiVersions = [] } = rule.rule ?? {};
  return apiVersions.length > 0 && names(apiGroups, groupOf(apiVersion)) ? apiVersion : undefined;
}

/** The same of a rule that may name single objects. One without a name of its own matches no such rule. */
export function namedRuleVersion(
  { resourceNames = [], ruleWithOperations = {} }: NamedRuleWithOperations,
  request: Request,
  policy: MatchPolicy,
): string | undefined {
  const isOther = resourceNames.length > 0 && !resourceNames.includes(request.name);
  return isOther ? undefined : ruleVersion(ruleWithOperations, request, policy);
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
