import { describe, expect, it } from 'vitest';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject } from '../generated/types.ts';
import { kindNamed } from './index.ts';
import type { ApiObject, Kind } from './kind.ts';
import { validateMetadata } from './metadata.ts';

const fields = (list: readonly { field: string }[]): string[] => list.map(({ field }) => field);
const judged = (kind: Kind, object: ApiObject): string[] => {
  kind.defaults(object);
  return fields(kind.validate(object));
};
const pods: PolicyRule = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };
const paths: PolicyRule = { nonResourceURLs: ['/metrics'], verbs: ['get'] };

describe('roles', () => {
  it.each<[string, PolicyRule, string[], string[]]>([
    ['about resources', pods, [], []],
    ['about paths', paths, ['rules[0].nonResourceURLs'], []],
    ['without verbs', { ...pods, verbs: [] }, ['rules[0].verbs'], ['rules[0].verbs']],
    ['without groups', { ...pods, apiGroups: [] }, ['rules[0].apiGroups'], ['rules[0].apiGroups']],
    ['without resources', { ...pods, resources: [] }, ['rules[0].resources'], ['rules[0].resources']],
    ['about both', { ...pods, ...paths }, ['rules[0].nonResourceURLs', 'rules[0].nonResourceURLs'], ['rules[0].nonResourceURLs']],
  ])('with a rule %s', (_, rule, inRole, inClusterRole) => {
    expect(judged(kindNamed('Role') as Kind, { rules: [rule] } as Role)).toEqual(inRole);
    expect(judged(kindNamed('ClusterRole') as Kind, { rules: [rule] } as ClusterRole)).toEqual(inClusterRole);
  });

  it('hold at most 10,000 combinations of groups and resources, whatever they are', () => {
    const many = (groups: number, resources: number): PolicyRule => ({
      apiGroups: Array.from({ length: groups }, () => ''),
      resources: Array.from({ length: resources }, () => 'pods'),
      verbs: ['get'],
    });
    for (const name of ['Role', 'ClusterRole'] as const) {
      expect(judged(kindNamed(name) as Kind, { rules: [many(100, 100)] } as Role)).toEqual([]);
      expect(judged(kindNamed(name) as Kind, { rules: [many(100, 100), pods] } as Role)).toEqual(['rules']);
    }
  });

  it('are made of others only by selectors', () => {
    const of = (aggregationRule: ClusterRole['aggregationRule']) =>
      judged(kindNamed('ClusterRole') as Kind, { aggregationRule } as ClusterRole);
    expect(of({ clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] })).toEqual([]);
    expect(of({})).toEqual(['aggregationRule.clusterRoleSelectors']);
    expect(of({ clusterRoleSelectors: [{ matchExpressions: [{ key: 'a', operator: 'In' }] }] })).toEqual([
      'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values',
    ]);
  });

  it.each(['system:node', 'a:b:c', 'Reader', 'x@y', 'a.b_c'])('may be called %s', (name) => {
    expect(validateMetadata(kindNamed('ClusterRole'), { name })).toEqual([]);
  });

  it.each(['.', '..', 'a/b', 'a%2fb', 'a b', 'ä', 'x'.repeat(254)])('may not be called %s', (name) => {
    expect(fields(validateMetadata(kindNamed('ClusterRole'), { name }))).toEqual(['metadata.name']);
  });
});

describe('bindings', () => {
  const roleRef = { kind: 'ClusterRole', name: 'view' };
  const group = 'rbac.authorization.k8s.io';

  it('have the group of users, groups and roles filled in', () => {
    const binding: RoleBinding = {
      roleRef: { ...roleRef },
      subjects: [
        { kind: 'User', name: 'anna' },
        { kind: 'ServiceAccount', name: 'x' },
      ],
    };
    expect(judged(kindNamed('RoleBinding') as Kind, binding)).toEqual([]);
    expect(binding.roleRef?.apiGroup).toBe(group);
    expect(binding.subjects?.map(({ apiGroup = '' }) => apiGroup)).toEqual([group, '']);
  });

  it.each<[string, Subject, string[]]>([
    ['a user', { kind: 'User', name: 'anna' }, []],
    ['a group', { kind: 'Group', name: 'system:authenticated', apiGroup: group }, []],
    ['a service account', { kind: 'ServiceAccount', name: 'x', namespace: 'y' }, []],
    ['a service account of no namespace', { kind: 'ServiceAccount', name: 'x' }, ['subjects[0].namespace']],
    [
      'a service account of a group',
      { kind: 'ServiceAccount', name: 'x', namespace: 'y', apiGroup: group },
      ['subjects[0].apiGroup'],
    ],
    ['a user of another group', { kind: 'User', name: 'x', apiGroup: 'a.b' }, ['subjects[0].apiGroup']],
    ['a user of a namespace', { kind: 'User', name: 'x', namespace: 'y' }, ['subjects[0].namespace']],
    ['nobody', { kind: 'Group' }, ['subjects[0].name']],
    ['a robot', { kind: 'Robot', name: 'x' }, ['subjects[0].kind']],
  ])('give a role to %s', (_, subject, wrong) => {
    const binding: ClusterRoleBinding = { roleRef: { ...roleRef }, subjects: [{ ...subject }] };
    expect(judged(kindNamed('ClusterRoleBinding') as Kind, binding)).toEqual(wrong);
  });

  it.each<[string, RoleBinding['roleRef'], string[], string[]]>([
    ['a role', { kind: 'Role', name: 'x' }, [], ['roleRef.kind']],
    ['a cluster role', { kind: 'ClusterRole', name: 'system:x' }, [], []],
    ['nothing', undefined, ['roleRef.kind', 'roleRef.name'], ['roleRef.kind', 'roleRef.name']],
    ['a role of another group', { apiGroup: 'a.b', kind: 'ClusterRole', name: 'x' }, ['roleRef.apiGroup'], ['roleRef.apiGroup']],
    ['a role that cannot be', { kind: 'ClusterRole', name: 'a/b' }, ['roleRef.name'], ['roleRef.name']],
  ])('give %s', (_, ref, inNamespace, inCluster) => {
    const make = (): RoleBinding => (ref ? { roleRef: { ...ref } } : {});
    expect(judged(kindNamed('RoleBinding') as Kind, make())).toEqual(inNamespace);
    expect(judged(kindNamed('ClusterRoleBinding') as Kind, make())).toEqual(inCluster);
  });

  it('never give another role than before', () => {
    const kind = kindNamed('RoleBinding');
    expect(kind.validateUpdate({ roleRef: { ...roleRef } }, { roleRef })).toEqual([]);
    expect(fields(kind.validateUpdate({ roleRef: { ...roleRef, name: 'edit' } }, { roleRef }))).toEqual(['roleRef']);
  });
});
