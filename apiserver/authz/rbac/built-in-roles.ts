import type { ClusterRole, ClusterRoleBinding, PolicyRule } from '../../../api/generated/types.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import { kinds } from '../../../api/kinds/index.ts';
import { rbacGroup } from '../../../api/kinds/rbac-roles.ts';
import { controlPlane, groups } from '../../authn/identity.ts';

// The roles that are there from the first start, with Kubernetes' names and, where the kinds are the same, its rules.

/** While it is "true" the server adds at each start what a role or binding lacks of what is written here. */
export const autoUpdate = 'rbac.authorization.kubernetes.io/autoupdate';
const marks = { labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' }, annotations: { [autoUpdate]: 'true' } };
const AGGREGATE = 'rbac.authorization.k8s.io/aggregate-to-';

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection'];
const CORE = '';
const APPS = 'apps';
const NETWORKING = 'networking.k8s.io';
/** What of APPS can be scaled. */
const scalableKinds = ['deployments', 'replicasets', 'statefulsets'];
const scalable = scalableKinds.flatMap((plural) => [plural, `${plural}/scale`]);

const rule = (verbs: readonly string[], group: string, ...resources: string[]): PolicyRule => ({
  apiGroups: [group],
  resources,
  verbs: [...verbs],
});

const makeRole = (name: string, rules: PolicyRule[], labels: Record<string, string> = {}): ClusterRole => ({
  metadata: { name, labels: { ...marks.labels, ...labels }, annotations: { ...marks.annotations } },
  rules,
});

/** A cluster role that aggregates all roles with its label; with `partOf` it is aggregated into that role itself. */
const aggregated = (name: string, partOf?: string): ClusterRole => ({
  ...makeRole(name, [], partOf === undefined ? {} : { [`${AGGREGATE}${partOf}`]: 'true' }),
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [`${AGGREGATE}${name}`]: 'true' } }] },
});

const partOf = (name: string, rules: PolicyRule[]): ClusterRole =>
  makeRole(`system:aggregate-to-${name}`, rules, { [`${AGGREGATE}${name}`]: 'true' });

/** Everything that is kept, by group, without subresources. */
function everyKind(verbs: readonly string[]): PolicyRule[] {
  const byGroup = new Map<string, string[]>();
  for (const { apiVersion, plural } of kinds) {
    const group = groupOf(apiVersion);
    byGroup.set(group, [...(byGroup.get(group) ?? []), plural]);
  }
  return [...byGroup].map(([group, plurals]) => rule(verbs, group, ...plurals));
}

const statusOf = (plurals: readonly string[]): string[] => plurals.map((plural) => `${plural}/status`);

const viewRules: PolicyRule[] = [
  rule(READ, CORE, 'pods', 'pods/log', 'pods/status', 'configmaps', 'persistentvolumeclaims', 'persistentvolumeclaims/status'),
  rule(READ, CORE, 'events', 'namespaces', 'namespaces/status', 'serviceaccounts', 'services', 'services/status'),
  rule(READ, CORE, 'replicationcontrollers', 'replicationcontrollers/scale', 'replicationcontrollers/status'),
  rule(READ, APPS, 'controllerrevisions', 'daemonsets', 'daemonsets/status', ...scalable, ...statusOf(scalableKinds)),
  rule(READ, CORE, 'endpoints'),
  rule(READ, 'discovery.k8s.io', 'endpointslices'),
  rule(READ, NETWORKING, 'ingresses', 'ingresses/status', 'networkpolicies'),
  rule(READ, 'networking.berth.io', 'podaddressslices'),
  rule(READ, CORE, 'limitranges', 'resourcequotas', 'resourcequotas/status'),
  rule(READ, 'batch', 'jobs', 'jobs/status', 'cronjobs', 'cronjobs/status'),
  rule(READ, 'autoscaling', 'horizontalpodautoscalers', 'horizontalpodautoscalers/status'),
  rule(READ, 'policy', 'poddisruptionbudgets', 'poddisruptionbudgets/status'),
];

const editRules: PolicyRule[] = [
  rule([...READ, ...WRITE], CORE, 'secrets', 'pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy', 'services/proxy'),
  rule(WRITE, CORE, 'pods', 'configmaps', 'events', 'persistentvolumeclaims', 'serviceaccounts', 'services'),
  rule(WRITE, CORE, 'replicationcontrollers', 'replicationcontrollers/scale'),
  rule(WRITE, APPS, 'daemonsets', ...scalable),
  rule(WRITE, 'batch', 'jobs', 'cronjobs'),
  rule(WRITE, 'autoscaling', 'horizontalpodautoscalers'),
  rule(WRITE, NETWORKING, 'ingresses', 'networkpolicies'),
  rule(['create'], CORE, 'pods/eviction', 'serviceaccounts/token'),
  rule(['update', 'patch'], CORE, 'pods/resize'),
  rule(['impersonate'], CORE, 'serviceaccounts'),
  rule(WRITE, 'policy', 'poddisruptionbudgets'),
  rule([...READ, ...WRITE], 'coordination.k8s.io', 'leases'),
];

const adminRules: PolicyRule[] = [
  rule([...READ, ...WRITE], rbacGroup, 'roles', 'rolebindings'),
  rule(['create'], 'authorization.k8s.io', 'localsubjectaccessreviews'),
];

/** What metrics-server brings with it. */
const aggregatedToAll = Object.fromEntries(['view', 'edit', 'admin'].map((name) => [`${AGGREGATE}${name}`, 'true']));

const reviews: PolicyRule[] = [
  rule(['create'], 'authorization.k8s.io', 'selfsubjectaccessreviews', 'selfsubjectrulesreviews'),
  rule(['create'], 'authentication.k8s.io', 'selfsubjectreviews'),
];

/** In both of their groups. */
const writeEvents: PolicyRule = {
  apiGroups: [CORE, 'events.k8s.io'],
  resources: ['events'],
  verbs: ['create', 'update', 'patch'],
};
const lead = rule(['get', 'list', 'watch', 'create', 'update', 'patch'], 'coordination.k8s.io', 'leases');

/** For programs that let users of the cluster in, as Kubernetes' own scheduler and controllers do to their metrics. */
const delegate: PolicyRule[] = [
  rule(['create'], 'authentication.k8s.io', 'tokenreviews'),
  rule(['create'], 'authorization.k8s.io', 'subjectaccessreviews'),
];

const schedulerRules: PolicyRule[] = [
  rule(READ, CORE, 'pods', 'nodes', 'namespaces', 'persistentvolumeclaims', 'persistentvolumes'),
  rule(READ, 'storage.k8s.io', 'storageclasses'),
  rule(READ, 'policy', 'poddisruptionbudgets'),
  // What Berth's scheduler does not read, and Kubernetes' own one, run against this server, does.
  rule(READ, CORE, 'services', 'replicationcontrollers'),
  rule(READ, APPS, 'replicasets', 'statefulsets'),
  rule(READ, 'storage.k8s.io', 'csinodes', 'csidrivers', 'csistoragecapacities'),
  ...delegate,
  rule(READ, 'metrics.k8s.io', 'nodemetrics'),
  rule(['create'], CORE, 'pods/binding'),
  // A pod makes room for a more important one.
  rule(['delete'], CORE, 'pods'),
  rule(['update', 'patch'], CORE, 'pods/status', 'persistentvolumeclaims', 'persistentvolumes'),
  rule(['update'], 'berth.io', 'schedulers'),
  writeEvents,
  lead,
];

/** Owned objects go with their owners, and the content of a namespace with it, of whatever kind. */
const collect = [...READ, 'patch', 'delete', 'deletecollection'];

/** What all controllers may do; what each needs besides, its own folder says (`ControllerDefinition.rules`). */
const controllerRules: PolicyRule[] = [
  ...everyKind(collect),
  writeEvents,
  lead,
  // For Kubernetes' own controllers, run against this server.
  rule(collect, 'events.k8s.io', 'events'),
  ...delegate,
];

const requestCertificates = rule(['create', 'get'], 'certificates.k8s.io', 'certificatesigningrequests');

/** What the agent of a node needs; nodes are held to more than a role can say, so it has no binding. */
const nodeRules: PolicyRule[] = [
  rule([...READ, 'create', 'update', 'patch'], CORE, 'nodes', 'nodes/status'),
  rule([...READ, 'create', 'delete'], CORE, 'pods'),
  rule(['update', 'patch'], CORE, 'pods/status'),
  rule(['get'], CORE, 'secrets', 'configmaps', 'persistentvolumeclaims', 'serviceaccounts'),
  rule(['create'], CORE, 'serviceaccounts/token'),
  rule([...READ, 'patch'], CORE, 'persistentvolumes'),
  requestCertificates,
  rule(READ, 'node.k8s.io', 'runtimeclasses'),
  rule(READ, 'networking.berth.io', 'nodenetworks', 'podaddressslices'),
  rule(READ, NETWORKING, 'networkpolicies'),
  rule(READ, 'storage.k8s.io', 'storageclasses'),
  rule([...READ, 'create', 'update', 'patch', 'delete'], 'metrics.k8s.io', 'nodemetrics'),
  writeEvents,
  rule([...READ, 'create', 'update', 'patch', 'delete'], 'coordination.k8s.io', 'leases'),
];

export const builtInRoles: readonly ClusterRole[] = [
  makeRole('cluster-admin', [
    { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
    { nonResourceURLs: ['*'], verbs: ['*'] },
  ]),
  aggregated('admin'),
  aggregated('edit', 'admin'),
  aggregated('view', 'edit'),
  partOf('admin', adminRules),
  partOf('edit', editRules),
  partOf('view', viewRules),
  makeRole('system:aggregated-metrics-reader', [rule(READ, 'metrics.k8s.io', 'pods', 'nodes')], aggregatedToAll),
  makeRole('system:discovery', [
    { nonResourceURLs: ['/healthz', '/livez', '/readyz', '/version', '/version/'], verbs: ['get'] },
    { nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*'], verbs: ['get'] },
    { nonResourceURLs: ['/reflection', '/openid/v1/jwks', '/authorities'], verbs: ['get'] },
  ]),
  makeRole('system:basic-user', reviews),
  makeRole('system:monitoring', [
    { nonResourceURLs: ['/healthz', '/healthz/*', '/livez', '/livez/*', '/readyz', '/readyz/*', '/metrics'], verbs: ['get'] },
  ]),
  makeRole('system:service-account-issuer-discovery', [
    { nonResourceURLs: ['/.well-known/openid-configuration', '/openid/v1/jwks'], verbs: ['get'] },
  ]),
  makeRole('system:auth-delegator', delegate),
  makeRole(controlPlane.scheduler, schedulerRules),
  makeRole(controlPlane.controllers, controllerRules),
  makeRole('system:node', nodeRules),
  makeRole('system:node-bootstrapper', [requestCertificates]),
];

/** The built-in roles, with what this version's controllers need in the role that is theirs. */
export const builtInRolesWith = (rulesOfControllers: readonly PolicyRule[]): ClusterRole[] =>
  builtInRoles.map((role) =>
    role.metadata?.name === controlPlane.controllers ? { ...role, rules: [...(role.rules ?? []), ...rulesOfControllers] } : role,
  );

const bind = (role: string, kind: 'User' | 'Group', name: string): ClusterRoleBinding => ({
  metadata: { name: role, labels: { ...marks.labels }, annotations: { ...marks.annotations } },
  roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
  subjects: [{ kind, apiGroup: rbacGroup, name }],
});

export const builtInBindings: readonly ClusterRoleBinding[] = [
  bind('cluster-admin', 'Group', groups.masters),
  bind('system:discovery', 'Group', groups.authenticated),
  bind('system:basic-user', 'Group', groups.authenticated),
  bind('system:monitoring', 'Group', groups.monitoring),
  bind('system:service-account-issuer-discovery', 'Group', groups.serviceAccounts),
  bind('system:node-bootstrapper', 'Group', groups.bootstrappers),
  bind(controlPlane.scheduler, 'User', controlPlane.scheduler),
  bind(controlPlane.controllers, 'User', controlPlane.controllers),
];

/** What the controllers may do with the kinds of a group that is none of Berth's own: a role and its binding. */
export function controllersOfGroup(group: string): { readonly role: ClusterRole; readonly binding: ClusterRoleBinding } {
  const name = `${controlPlane.controllers}:${group}`;
  const binding = bind(name, 'User', controlPlane.controllers);
  return { role: makeRole(name, [rule(collect, group, '*')]), binding };
}
