import { describe, expect, it, test } from 'vitest';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { loadBalancerLabel } from '../../api/meta/load-balancers.ts';
import { timestamp } from '../../api/meta/time.ts';
import { createRoleWorld, group, rule, user } from '../../test/fakes/role-world.ts';
import type { Access, AccessVerb } from './attributes.ts';

const anna = { user: 'anna', groups: ['dev', 'system:authenticated'] };
const access = (verb: AccessVerb, kind: string, namespace = 'default', name = 'x'): Access => ({ verb, kind, namespace, name });

function world() {
  const made = createRoleWorld();
  made.authorizer.observe();
  return { ...made, may: (what: Access, who = anna) => made.authorizer.may(who, what) };
}

describe('a rule', () => {
  it.each<[string, Parameters<typeof rule>, Access, boolean]>([
    ['its verb', ['get pods'], access('get', 'Pod'), true],
    ['another verb', ['get pods'], access('list', 'Pod'), false],
    ['any verb', ['* pods'], access('delete', 'Pod'), true],
    ['another resource', ['get pods'], access('get', 'Secret'), false],
    ['any resource', ['get *'], access('get', 'Secret'), true],
    ['any resource of its group only', ['get *'], access('get', 'Lease'), false],
    ['any group', ['get *', { apiGroups: ['*'] }], access('get', 'Lease'), true],
    ['its group', ['get leases', { apiGroups: ['coordination.k8s.io'] }], access('get', 'Lease'), true],
    ['a resource of the same name in another group', ['get leases'], access('get', 'Lease'), false],
    ['no subresource', ['* pods'], access('exec', 'Pod'), false],
    ['its subresource', ['create pods/exec'], access('exec', 'Pod'), true],
    ['files by the same', ['create pods/exec'], access('write-files', 'Pod'), true],
    ['a subresource of everything', ['get */log'], access('logs', 'Pod'), true],
    ['another subresource of everything', ['get */log'], access('update-status', 'Pod'), false],
    ['all subresources with all resources', ['* *'], access('port-forward', 'Pod'), true],
    ['the status', ['patch pods/status'], access('patch-status', 'Pod'), true],
    ['not the object by its status', ['patch pods/status'], access('patch', 'Pod'), false],
    ['a binding', ['create pods/binding'], access('create-binding', 'Pod'), true],
    ['an eviction', ['create pods/eviction'], access('create-eviction', 'Pod'), true],
    ['another part', ['update pods/resize'], access('update-resize', 'Pod'), true],
    ['all at once by a verb of its own', ['delete pods'], access('delete-collection', 'Pod', 'default', ''), false],
    ['its name', ['get pods', { resourceNames: ['x'] }], access('get', 'Pod'), true],
    ['another name', ['get pods', { resourceNames: ['y'] }], access('get', 'Pod'), false],
    ['a list, with a name', ['list pods', { resourceNames: ['x'] }], access('list', 'Pod', 'default', ''), false],
    ['a create, with a name', ['create pods', { resourceNames: ['x'] }], access('create', 'Pod'), false],
    ['a subresource of its name', ['create pods/exec', { resourceNames: ['x'] }], access('exec', 'Pod'), true],
    ['a subresource of another', ['create pods/exec', { resourceNames: ['y'] }], access('exec', 'Pod'), false],
  ])('about %s', (_, given, wanted, answer) => {
    const { clusterRole, bind, may } = world();
    clusterRole('r', rule(...given));
    bind('r', user('anna'));
    expect(may(wanted)).toBe(answer);
    // Kept answers are the same.
    expect(may(wanted)).toBe(answer);
  });

  it('about a name allows a list or watch of what has that name', () => {
    const { clusterRole, bind, may } = world();
    clusterRole('r', rule('list,watch,deletecollection secrets', { resourceNames: ['x'] }));
    bind('r', user('anna'));
    const selected = (name: string) => ({ 'metadata.name': name });
    for (const verb of ['list', 'watch', 'delete-collection'] as const) {
      expect(may({ ...access(verb, 'Secret', 'default', ''), selected: selected('x') })).toBe(true);
      expect(may({ ...access(verb, 'Secret', 'default', ''), selected: selected('y') })).toBe(false);
    }
  });
});

describe('a binding', () => {
  it('in a namespace gives a role, or a cluster role, there and nowhere else', () => {
    const { role, clusterRole, bindIn, may } = world();
    role('default', 'own', rule('get pods'));
    clusterRole('shared', rule('get secrets,nodes'));
    bindIn('default', 'Role/own', user('anna'));
    bindIn('default', 'ClusterRole/shared', user('anna'));
    expect(['Pod', 'Secret'].map((kind) => may(access('get', kind)))).toEqual([true, true]);
    expect(['Pod', 'Secret'].map((kind) => may(access('get', kind, 'other')))).toEqual([false, false]);
    expect(['Pod', 'Secret'].map((kind) => may(access('get', kind, '')))).toEqual([false, false]);
    // What belongs to no namespace is not reached from one.
    expect(may(access('get', 'Node', ''))).toBe(false);
  });

  it('of a namespace finds a role of its own namespace only', () => {
    const { role, bindIn, may } = world();
    role('other', 'own', rule('get pods'));
    bindIn('default', 'Role/own', user('anna'));
    expect(may(access('get', 'Pod'))).toBe(false);
    expect(may(access('get', 'Pod', 'other'))).toBe(false);
  });

  it('shows the namespace itself to who has a role in it', () => {
    const { clusterRole, bindIn, may } = world();
    clusterRole('view', rule('get,list namespaces'));
    bindIn('default', 'ClusterRole/view', user('anna'));
    expect(may(access('get', 'Namespace', '', 'default'))).toBe(true);
    expect(may(access('get', 'Namespace', '', 'other'))).toBe(false);
    expect(may(access('list', 'Namespace', '', ''))).toBe(false);
  });

  it.each([
    ['the user', user('anna'), anna, true],
    ['another user', user('bert'), anna, false],
    ['a group', group('dev'), anna, true],
    ['all authenticated users', group('system:authenticated'), anna, true],
    ['a user called as the group', user('dev'), anna, false],
    ['a group called as the user', group('anna'), anna, false],
    [
      'a service account',
      { kind: 'ServiceAccount', namespace: 'ci', name: 'bot' },
      { user: 'system:serviceaccount:ci:bot', groups: [] },
      true,
    ],
    [
      'a service account of another namespace',
      { kind: 'ServiceAccount', namespace: 'ci', name: 'bot' },
      { user: 'system:serviceaccount:other:bot', groups: [] },
      false,
    ],
  ])('gives its role to %s', (_, subject, who, answer) => {
    const { clusterRole, bind, may } = world();
    clusterRole('r', rule('get pods'));
    bind('r', subject);
    expect(may(access('get', 'Pod'), who)).toBe(answer);
  });

  it('in a namespace means the service accounts of that namespace where it names none', () => {
    const { clusterRole, bindIn, may } = world();
    clusterRole('r', rule('get pods'));
    bindIn('ci', 'ClusterRole/r', { kind: 'ServiceAccount', name: 'bot' });
    expect(may(access('get', 'Pod', 'ci'), { user: 'system:serviceaccount:ci:bot', groups: [] })).toBe(true);
  });
});

test('every change counts at once: of roles, of bindings, in any order, and of a reload', () => {
  const { clusterRole, bind, may, remove, cacheOf, put } = world();
  const asked = access('get', 'Pod');
  bind('r', user('anna'));
  expect(may(asked)).toBe(false);
  clusterRole('r', rule('get pods'));
  expect(may(asked)).toBe(true);
  clusterRole('r', rule('get secrets'));
  expect(may(asked)).toBe(false);
  clusterRole('r', rule('get pods'));
  bind('r', user('bert'));
  expect(may(asked)).toBe(false);
  bind('r', user('bert'), user('anna'));
  expect(may(asked)).toBe(true);
  remove('ClusterRole', { metadata: { name: 'r' } });
  expect(may(asked)).toBe(false);
  put('ClusterRole', { metadata: { name: 'r' }, rules: [rule('get pods')] } as never);
  expect(may(asked)).toBe(true);
  cacheOf('ClusterRoleBinding').reset([], 1_000);
  expect(may(asked)).toBe(false);
});

test('users without a role may do nothing, administrators everything, and the refusal says what to do', () => {
  const { authorizer, may } = world();
  expect(may(access('get', 'Pod'))).toBe(false);
  expect(may(access('create', 'Backup', ''), { user: 'root', groups: ['system:masters'] })).toBe(true);
  const refused = (what: Access) => {
    try {
      authorizer.authorize(anna, what);
    } catch (error) {
      return error as { code: string; reason: string; message: string };
    }
    throw new Error('was allowed');
  };
  expect(refused(access('delete', 'Pod'))).toMatchObject({
    code: 'PERMISSION_DENIED',
    reason: 'Forbidden',
    message:
      'user "anna" cannot delete pods in the namespace "default": no role allows it; berth auth can-i --list shows what you may do',
  });
  expect(refused(access('list', 'Pod', '')).message).toContain('cannot list pods in all namespaces: ');
  expect(refused(access('list', 'Node', '')).message).toContain('cannot list nodes: ');
  expect(refused(access('exec', 'Pod')).message).toContain('cannot create pods/exec in the namespace "default": ');
  expect(() => authorizer.authorizePath(anna, 'get', '/apis')).toThrow('user "anna" cannot get /apis: ');
});

test('paths are allowed by cluster roles that are bound in the cluster', () => {
  const { clusterRole, bind, bindIn, authorizer } = world();
  clusterRole('paths', { verbs: ['get'], nonResourceURLs: ['/apis', '/metrics/*'] });
  bindIn('default', 'ClusterRole/paths', user('anna'));
  expect(authorizer.mayPath(anna, 'get', '/apis')).toBe(false);
  bind('paths', user('anna'));
  expect(['/apis', '/metrics/x', '/metrics', '/apis/x'].map((path) => authorizer.mayPath(anna, 'get', path))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(authorizer.mayPath(anna, 'post', '/apis')).toBe(false);
});

test('the rules of many users are kept within bounds, and those who ask again have the same answer', () => {
  const { clusterRole, bind, may } = world();
  clusterRole('r', rule('get pods'));
  bind('r', group('dev'));
  for (let i = 0; i < 3_000; i++) expect(may(access('get', 'Pod'), { user: `u${i}`, groups: ['dev'] })).toBe(true);
  for (let i = 0; i < 3_000; i++) expect(may(access('get', 'Pod', `ns-${i}`))).toBe(true);
  expect(may(access('get', 'Secret'))).toBe(false);
});

it.each([
  ['was written just now', 0, true, 'a node cannot take it from node "n2" before it has run out'],
  ['has run out', 60_000, true, ''],
  ['is of an address that no Service has', 60_000, false, 'a node cannot hold it: no service of type LoadBalancer has'],
])('a node takes the Lease of an address from another: one that %s', (_, age, hasService, refusal) => {
  const { authorizer, put } = createRoleWorld();
  const renewTime = timestamp(new Date(Date.now() - age));
  const lease = (holderIdentity: string) => ({
    metadata: { namespace: 'kube-system', name: 'lb-192.0.2.1', labels: { [loadBalancerLabel.name]: loadBalancerLabel.value } },
    spec: { holderIdentity, renewTime },
  });
  put('Lease', lease('n2'));
  authorizer.observe();
  const ingress = hasService ? [{ ip: '192.0.2.1' }] : [];
  const spec = { type: 'LoadBalancer' };
  put('Service', { metadata: { namespace: 'shop', name: 'web' }, spec, status: { loadBalancer: { ingress } } } as ApiObject);
  const update = { verb: 'update', kind: 'Lease', namespace: 'kube-system', name: 'lb-192.0.2.1' } as const;
  const node = { user: 'system:node:n1', groups: ['system:nodes'] };
  const take = () => authorizer.authorizeNext(node, update, lease('n1'), lease('n2'));
  if (refusal === '') take();
  else expect(take).toThrow(refusal);
});
