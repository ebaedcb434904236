import { isDeepStrictEqual } from 'node:util';
import { permissionDenied } from '../../../api/errors/index.ts';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, RoleBinding } from '../../../api/generated/types.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import type { Access } from '../attributes.ts';
import { missingRules } from './covers.ts';
import type { RuleSet } from './rule-set.ts';

/** The authorizer's data about a user that writes a role or a binding. */
export interface RoleQuestions {
  readonly user: string;
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
 * PERMISSION_DENIED.
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
  throw permissionDenied(
    `user "${ask.user}" cannot give the ${wordOf(access)} "${access.name}" what the user does not hold: ${missing.map(ruleText).join('; ')}`,
  );
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
  const why = missing ? `the user does not hold ${missing.map(ruleText).join('; ')}` : 'there is no such role';
  throw permissionDenied(`user "${ask.user}" cannot grant the ${kind} "${name}": ${why}`);
}

const wordOf = ({ kind }: Access): string => (kind === 'Role' ? 'role' : 'cluster role');

/** A rule in a few words: "get, list of pods, pods/log". */
function ruleText({ verbs = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): string {
  const names = resourceNames.length > 0 ? ` called ${resourceNames.join(', ')}` : '';
  return `${verbs.join(', ')} of ${[...resources, ...nonResourceURLs].join(', ')}${names}`.slice(0, 300);
}
