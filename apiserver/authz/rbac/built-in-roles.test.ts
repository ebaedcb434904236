import { describe, expect, it } from 'vitest';
import type { ClusterRole } from '../../../api/generated/types.ts';
import { kindNamed } from '../../../api/kinds/index.ts';
import { rule } from '../../../test/fakes/role-world.ts';
import { decideAggregation } from './aggregate.ts';
import { builtInBindings, builtInRoles } from './built-in-roles.ts';
import { withMissing } from './reconcile.ts';

/** As the server writes them, until all are right. */
function settle(roles: readonly ClusterRole[]): Map<string, ClusterRole> {
  const byName = new Map(roles.map((role) => [role.metadata?.name ?? '', role]));
  for (let round = 0; ; round++) {
    const stale = decideAggregation([...byName.values()]);
    if (stale.length === 0) return byName;
    if (round > 5) throw new Error('never right');
    for (const { name, rules } of stale) byName.set(name, { ...byName.get(name), rules: [...rules] });
  }
}

describe('the built-in roles', () => {
  it('are valid, and bound ones exist', () => {
    for (const role of builtInRoles) expect(kindNamed('ClusterRole').validate(role), role.metadata?.name).toEqual([]);
    for (const binding of builtInBindings) {
      expect(kindNamed('ClusterRoleBinding').validate(binding)).toEqual([]);
      expect(builtInRoles.some(({ metadata }) => metadata?.name === binding.roleRef?.name)).toBe(true);
    }
  });

  it('make admin of edit, and edit of view', () => {
    const roles = settle(builtInRoles);
    const rulesOf = (name: string) => roles.get(name)?.rules ?? [];
    expect(rulesOf('view')).toEqual([...rulesOf('system:aggregate-to-view'), ...rulesOf('system:aggregated-metrics-reader')]);
    for (const each of rulesOf('view')) expect(rulesOf('edit')).toContainEqual(each);
    for (const each of rulesOf('edit')) expect(rulesOf('admin')).toContainEqual(each);
    expect(rulesOf('view').flatMap(({ resources = [] }) => resources)).not.toContain('secrets');
    expect(new Set(rulesOf('view').flatMap(({ verbs = [] }) => verbs))).toEqual(new Set(['get', 'list', 'watch']));
  });

  it.each([
    ['view', 'get', 'apps', 'deployments/scale', true],
    ['view', 'watch', 'apps', 'controllerrevisions', true],
    ['view', 'get', '', 'replicationcontrollers/status', true],
    ['view', 'update', 'apps', 'deployments/scale', false],
    ['edit', 'patch', 'apps', 'statefulsets/scale', true],
    ['edit', 'update', '', 'replicationcontrollers/scale', true],
    ['edit', 'deletecollection', 'apps', 'daemonsets', true],
    ['edit', 'update', 'apps', 'deployments/status', false],
    ['edit', 'create', 'apps', 'controllerrevisions', false],
    ['edit', 'delete', '', 'events', true],
    // Roles of runners name them, and only what a namespace's administrator may do goes into a role.
    ['edit', 'get', '', 'pods/exec', true],
    ['edit', 'deletecollection', '', 'pods/attach', true],
    ['admin', 'patch', '', 'pods/portforward', true],
    // Admission rules from before there were debug containers do not see them.
    ['edit', 'patch', '', 'pods/ephemeralcontainers', false],
    ['admin', 'update', '', 'pods/ephemeralcontainers', false],
    ['admin', 'get', '', 'podtemplates', false],
    ['system:kube-scheduler', 'watch', '', 'services', true],
    ['system:kube-scheduler', 'list', '', 'replicationcontrollers', true],
    ['system:kube-scheduler', 'list', 'apps', 'replicasets', true],
    ['system:kube-scheduler', 'watch', 'apps', 'statefulsets', true],
    ['system:kube-scheduler', 'list', 'storage.k8s.io', 'csinodes', true],
    ['system:kube-scheduler', 'list', 'storage.k8s.io', 'csistoragecapacities', true],
    ['system:kube-scheduler', 'update', '', 'persistentvolumeclaims', true],
    ['system:kube-scheduler', 'create', 'authentication.k8s.io', 'tokenreviews', true],
    ['system:kube-scheduler', 'list', '', 'secrets', false],
    ['system:kube-controller-manager', 'list', 'events.k8s.io', 'events', true],
    ['system:kube-controller-manager', 'deletecollection', 'events.k8s.io', 'events', true],
    ['system:kube-controller-manager', 'create', 'authorization.k8s.io', 'subjectaccessreviews', true],
  ] as const)('as in Kubernetes: %s may %s %s %s is %s', (role, verb, group, resource, may) => {
    const rules = settle(builtInRoles).get(role)?.rules ?? [];
    const allowed = rules.some(
      ({ apiGroups, resources, verbs }) => apiGroups?.includes(group) && resources?.includes(resource) && verbs?.includes(verb),
    );
    expect(allowed).toBe(may);
  });

  it('aggregate a role of a user by its label, and drop it again', () => {
    const mine: ClusterRole = {
      metadata: { name: 'mine', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
      rules: [rule('get toys')],
    };
    const roles = settle([...builtInRoles, mine]);
    for (const name of ['view', 'edit', 'admin']) expect(roles.get(name)?.rules).toContainEqual(rule('get toys'));
    roles.delete('mine');
    for (const role of settle([...roles.values()]).values()) expect(role.rules).not.toContainEqual(rule('get toys'));
  });

  it('get what they lack, keep what was added, and stay as they are when told so', () => {
    const [wanted] = builtInRoles.filter(({ metadata }) => metadata?.name === 'system:aggregate-to-view');
    const found: ClusterRole = { metadata: { name: 'x', labels: { mine: 'y' } }, rules: [rule('get toys'), wanted!.rules![0]!] };
    const next = withMissing(wanted!, found);
    expect(next.rules).toEqual([rule('get toys'), ...wanted!.rules!]);
    expect(next.metadata?.labels).toMatchObject({ mine: 'y', 'kubernetes.io/bootstrapping': 'rbac-defaults' });
    expect(withMissing(wanted!, next)).toEqual(next);
    const left = {
      ...found,
      metadata: { ...found.metadata, annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'false' } },
    };
    expect(withMissing(wanted!, left)).toEqual(left);
    const [binding] = builtInBindings;
    const more = { ...binding, subjects: [{ kind: 'User', name: 'anna' }] };
    expect(withMissing(binding!, more).subjects).toEqual([...more.subjects, ...binding!.subjects!]);
  });
});
