import { isDeepStrictEqual } from 'node:util';
import { type ApiError, notFound, permissionDenied } from '../../../api/errors/index.ts';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, RoleBinding } from '../../../api/generated/types.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import type { Access } from '../attributes.ts';
import { missingParts, missingRules } from './covers.ts';
import type { RuleSet } from './rule-set.ts';

/** The authorizer's data about a user that writes a role or a binding. */
export interface RoleQuestions {
  readonly user: string;
  readonly groups: readonly string[];
  readonly held: RuleSet;
  readonly may: (access: Access) => boolean;
  readonly rulesOfRole: (namespace: string, roleRef: { kind?: string; name?: string }) => readonly PolicyRule[] | undefined;
}

/** An aggregation rule can select any rules, so its writer must hold all of them. */
const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/**
 * Prevents privilege escalation: a user may write only rules that it holds, unless it may "escalate" the role, and bind
 * only a role whose rules it holds, unless it may "bind" the role. `previous` is undefined on create. Throws
 * PERMISSION_DENIED, and NOT_FOUND for a role that does not exist.
 */
export function checkRoleChange(ask: RoleQuestions, access: Access, next: ApiObject, previous: ApiObject | undefined): void {
  if (access.kind === 'Role' || access.kind === 'ClusterRole') checkRole(ask, access, next, previous);
  if (access.kind === 'RoleBinding' || access.kind === 'ClusterRoleBinding') checkBinding(ask, access, next, previous);
}

function checkRole(ask: RoleQuestions, access: Access, next: ClusterRole, previous: ClusterRole | undefined): void {
  const same = (a: unknown, b: unknown) => isDeepStrictEqual(a ?? null, b ?? null);
  const chooses = next.aggregationRule !== undefined && !same(next.aggregationRule, previous?.aggregationRule);
  // Labels put the rules of a cluster role into others, for the holders of those.
  const isShown = access.kind === 'ClusterRole' && !same(next.metadata?.labels, previous?.metadata?.labels);
  if (previous && !chooses && !isShown && same(next.rules, previous.rules)) return;
  const wanted = chooses ? everything : (next.rules ?? []);
  const missing = missingRules(ask.held, wanted, access.namespace);
  if (missing.length === 0 || ask.may({ ...access, verb: 'escalate' })) return;
  throw escalation(ask, access, `cannot write the ${wordOf(access)} "${access.name}"`, missing);
}

function checkBinding(
  ask: RoleQuestions,
  access: Access,
  next: RoleBinding | ClusterRoleBinding,
  previous: RoleBinding | undefined,
): void {
  const same = isDeepStrictEqual(next.subjects ?? [], previous?.subjects ?? []);
  if (previous && same && isDeepStrictEqual(next.roleRef, previous.roleRef)) return;
  const { kind = '', name = '' } = next.roleRef ?? {};
  const ofRole: Access = { verb: 'bind-role', kind, name, namespace: kind === 'Role' ? access.namespace : '' };
  // A cluster role may be bound in a namespace by a user that may "bind" it there.
  if ((kind === 'Role' || kind === 'ClusterRole') && (ask.may(ofRole) || ask.may({ ...ofRole, namespace: access.namespace })))
    return;
  const rules = ask.rulesOfRole(access.namespace, { kind, name });
  const missing = rules && missingRules(ask.held, rules, access.namespace);
  if (missing?.length === 0) return;
  if (missing) throw escalation(ask, access, `cannot grant the ${kind} "${name}"`, missing);
  // As in Kubernetes: the rules of such a role, which a user without "bind" must hold, cannot be found.
  if (kind === 'Role') throw notFound({ kind, name, namespace: access.namespace });
  if (kind === 'ClusterRole') throw notFound({ kind, name });
  throw permissionDenied(`user "${ask.user}" cannot grant a role of kind ${JSON.stringify(kind)}`);
}

/** In Kubernetes' words, which programs look for. */
function escalation({ user, groups, held }: RoleQuestions, access: Access, what: string, missing: PolicyRule[]): ApiError {
  const parts = [...new Set(missingParts(held, missing, access.namespace).map(ruleText))].sort();
  const who = `user ${JSON.stringify(user)} (groups=${quoted(groups)})`;
  const why = `${who} is attempting to grant RBAC permissions not currently held:\n${bounded(parts.join('\n'))}`;
  const { kind, namespace, name } = access;
  return permissionDenied(`${what}: ${why}`, { of: 'forbidden', why, subject: { kind, namespace, name } });
}

const wordOf = ({ kind }: Access): string => (kind === 'Role' ? 'role' : 'cluster role');

/** What travels in the header of an answer over gRPC. */
const MOST_CHARACTERS = 3_000;

const bounded = (text: string): string => (text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}...` : text);

/** As Go prints a list of texts: `["a" "b"]`. */
const quoted = (texts: readonly string[]): string => `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;

/** A rule as Kubernetes shows it: `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`. */
function ruleText({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const shown = [
    ...[['APIGroups', apiGroups] as const, ['Resources', resources] as const, ['NonResourceURLs', nonResourceURLs] as const],
    ...[['ResourceNames', resourceNames] as const, ['Verbs', verbs] as const],
  ];
  const fields = shown.flatMap(([name, texts = []]) => (texts.length > 0 ? [`${name}:${quoted(texts)}`] : []));
  return `{${fields.join(', ')}}`;
}
