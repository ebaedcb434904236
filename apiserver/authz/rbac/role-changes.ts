import { isDeepStrictEqual } from 'node:util';
import { permissionDenied } from '../../../api/errors/index.ts';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, RoleBinding } from '../../../api/generated/types.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import type { Access } from '../attributes.ts';
import { missingRules } from './covers.ts';
import type { RuleSet } from './rule-set.ts';

/** What is asked of the authorizer about who changes a role or a binding. */
export interface RoleQuestions {
  readonly user: string;
  readonly held: RuleSet;
  readonly may: (access: Access) => boolean;
  readonly rulesOfRole: (namespace: string, roleRef: { kind?: string; name?: string }) => readonly PolicyRule[] | undefined;
}

/** Who may choose the rules of others by labels must be able to do all that such rules can say. */
const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/**
 * Whether a user grants more than it holds: a role gets only rules that its writer holds, unless it may "escalate" it; a binding gives only a
 * role whose rules its writer holds, unless he may "bind" it. `previous` is undefined of what is new. Throws PERMISSION_DENIED.
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
  // A cluster role may be bound in one namespace by who may do that there.
  if ((kind === 'Role' || kind === 'ClusterRole') && (ask.may(ofRole) || ask.may({ ...ofRole, namespace: access.namespace })))
    return;
  const rules = ask.rulesOfRole(access.namespace, { kind, name });
  const missing = rules && missingRules(ask.held, rules, access.namespace);
  if (missing?.length === 0) return;
  const why = missing ? `the user does not hold ${missing.map(ruleText).join('; ')}` : 'there is no such role';
  throw permissionDenied(`user "${ask.user}" cannot give the ${kind} "${name}" to anybody: ${why}`);
}

const wordOf = ({ kind }: Access): string => (kind === 'Role' ? 'role' : 'cluster role');

/** A rule in a few words: "get, list of pods, pods/log". */
function ruleText({ verbs = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): string {
  const names = resourceNames.length > 0 ? ` called ${resourceNames.join(', ')}` : '';
  return `${verbs.join(', ')} of ${[...resources, ...nonResourceURLs].join(', ')}${names}`.slice(0, 300);
}
