import { badRequest } from '../../api/errors/index.ts';
import { kindOf } from '../../api/kinds/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';

// What `create role`, `clusterrole`, `rolebinding` and `clusterrolebinding` make, in JSON form.

const group = 'rbac.authorization.k8s.io';

export interface RoleFlags {
  readonly verb?: readonly string[];
  readonly resource?: readonly string[];
  readonly resourceName?: readonly string[];
  readonly nonResourceUrl?: readonly string[];
  readonly aggregationRule?: string;
}

const words = (list: readonly string[] = []): string[] => [
  ...new Set(list.flatMap((each) => each.split(',')).filter((each) => each !== '')),
];

export function roleObject(name: string, flags: RoleFlags): JsonObject {
  return { apiVersion: `${group}/v1`, kind: 'Role', metadata: { name }, rules: resourceRules(flags) };
}

export function clusterRoleObject(name: string, flags: RoleFlags): JsonObject {
  const base = { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata: { name } };
  const paths = words(flags.nonResourceUrl);
  if (flags.aggregationRule !== undefined) {
    if (words(flags.verb).length + words(flags.resource).length + paths.length > 0)
      throw badRequest('a role is made of others, or has rules of its own: give --aggregation-rule alone');
    const matchLabels = Object.fromEntries(words([flags.aggregationRule]).map(pair));
    return { ...base, aggregationRule: { clusterRoleSelectors: [{ matchLabels }] }, rules: [] };
  }
  if (paths.length === 0) return { ...base, rules: resourceRules(flags) };
  if (words(flags.resource).length > 0) return { ...base, rules: [...resourceRules(flags), pathRule(flags, paths)] };
  return { ...base, rules: [pathRule(flags, paths)] };
}

function pair(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at <= 0) throw badRequest(`--aggregation-rule takes KEY=VALUE, not "${text}"`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function verbsOf(flags: RoleFlags): string[] {
  const verbs = words(flags.verb);
  if (verbs.length === 0) throw badRequest('say what may be done: --verb=get,list,watch');
  return verbs.includes('*') ? ['*'] : verbs;
}

function pathRule(flags: RoleFlags, paths: string[]): JsonObject {
  return { verbs: verbsOf(flags), nonResourceURLs: paths };
}

/** One rule for the resources of each group. */
function resourceRules(flags: RoleFlags): JsonObject[] {
  const verbs = verbsOf(flags);
  const resources = words(flags.resource);
  if (resources.length === 0) throw badRequest('say with what: --resource=pods,pods/log');
  const resourceNames = words(flags.resourceName);
  const byGroup = new Map<string, string[]>();
  for (const text of resources) {
    const [apiGroup, resource] = parseResource(text);
    byGroup.set(apiGroup, [...(byGroup.get(apiGroup) ?? []), resource]);
  }
  return [...byGroup].map(([apiGroup, list]) => ({
    verbs,
    apiGroups: [apiGroup],
    resources: list,
    ...(resourceNames.length > 0 && { resourceNames }),
  }));
}

/** "pods", "po/log", "leases.coordination.k8s.io", "*". */
function parseResource(text: string): [group: string, resource: string] {
  if (text === '*') return ['*', '*'];
  const [, type = '', dotted, part = ''] = /^([^./]+)(?:\.([^/]+))?(\/.+)?$/.exec(text) ?? [];
  if (type === '') throw badRequest(`--resource takes RESOURCE[.GROUP][/PART], not "${text}"`);
  const kind = kindOf(type);
  if (!kind) {
    if (dotted === undefined && type !== '*')
      throw badRequest(`the server has no resource "${type}": name its group as well, ${type}.GROUP`);
    return [dotted ?? '*', `${type}${part}`];
  }
  const slash = kind.apiVersion.indexOf('/');
  return [dotted ?? (slash < 0 ? '' : kind.apiVersion.slice(0, slash)), `${kind.plural}${part}`];
}

export interface BindingFlags {
  readonly role?: string;
  readonly clusterrole?: string;
  readonly user?: readonly string[];
  readonly group?: readonly string[];
  readonly serviceaccount?: readonly string[];
}

export function roleBindingObject(name: string, flags: BindingFlags): JsonObject {
  if ((flags.role === undefined) === (flags.clusterrole === undefined))
    throw badRequest('say which role to give: either --role=NAME or --clusterrole=NAME');
  const [kind, role] = flags.role === undefined ? ['ClusterRole', flags.clusterrole!] : ['Role', flags.role];
  return binding('RoleBinding', name, { kind, name: role }, flags);
}

export function clusterRoleBindingObject(name: string, flags: BindingFlags): JsonObject {
  if (flags.clusterrole === undefined) throw badRequest('say which role to give: --clusterrole=NAME');
  return binding('ClusterRoleBinding', name, { kind: 'ClusterRole', name: flags.clusterrole }, flags);
}

function binding(kind: string, name: string, role: JsonObject, flags: BindingFlags): JsonObject {
  const subjects = [
    ...words(flags.user).map((user) => ({ apiGroup: group, kind: 'User', name: user })),
    ...words(flags.group).map((each) => ({ apiGroup: group, kind: 'Group', name: each })),
    ...words(flags.serviceaccount).map(account),
  ];
  return { apiVersion: `${group}/v1`, kind, metadata: { name }, roleRef: { apiGroup: group, ...role }, subjects };
}

function account(text: string): JsonObject {
  const [namespace = '', name = '', ...more] = text.split(':');
  if (namespace === '' || name === '' || more.length > 0)
    throw badRequest(`--serviceaccount takes NAMESPACE:NAME, not "${text}"`);
  return { kind: 'ServiceAccount', namespace, name };
}
