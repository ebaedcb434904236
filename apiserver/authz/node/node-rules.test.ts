import { describe, expect, it, test } from 'vitest';
import type { Pod } from '../../../api/generated/types.ts';
import { createRoleWorld } from '../../../test/fakes/role-world.ts';
import type { Access, AccessVerb } from '../attributes.ts';
import { referencesOf } from './pod-references.ts';

const n1 = { user: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };
const access = (verb: AccessVerb, kind: string, name: string, namespace = 'default'): Access => ({ verb, kind, namespace, name });
const reading = (verb: 'list' | 'watch' | 'delete-collection', kind: string, selected?: Record<string, string>): Access => ({
  ...access(verb, kind, '', ''),
  selected,
});

const using = (name: string, nodeName: string | undefined, spec: Pod['spec'] = {}): Pod => ({
  metadata: { name, namespace: 'default' },
  spec: { ...(nodeName === undefined ? {} : { nodeName }), ...spec },
});
const secretVolume = (secretName: string) => ({ volumes: [{ name: 'v', volumeSource: { secret: { secretName } } }] });
const claimVolume = (claimName: string) => ({
  volumes: [{ name: 'v', volumeSource: { persistentVolumeClaim: { claimName } } }],
});

/**
 * "mine" is a pod of n1 that uses each of "mine"; "theirs" is one of n2 that uses each of "theirs"; "open" is not bound
 * yet.
 */
function world() {
  const made = createRoleWorld();
  made.authorizer.observe();
  for (const [name, node] of [
    ['mine', 'n1'],
    ['theirs', 'n2'],
    ['open', undefined],
  ] as const) {
    made.put(
      'Pod',
      using(name, node, {
        serviceAccountName: name,
        containers: [{ name: 'c', envFrom: [{ configMapRef: { localObjectReference: { name } } }] }],
        volumes: [...secretVolume(name).volumes, ...claimVolume(name).volumes],
      }),
    );
    made.put('PersistentVolume', { metadata: { name }, spec: { claimRef: { namespace: 'default', name } } } as never);
  }
  return { ...made, may: (what: Access, who = n1) => made.authorizer.may(who, what) };
}

describe('the node n1, or a thief of its certificate,', () => {
  const all = ['get', 'create', 'update', 'patch', 'delete', 'update-status', 'patch-status'] as const;
  it.each<[string, Access, boolean]>([
    ['reads its own Node', access('get', 'Node', 'n1', ''), true],
    ['makes its own Node', access('create', 'Node', 'n1', ''), true],
    ['reports on its own Node', access('patch-status', 'Node', 'n1', ''), true],
    ['reads another Node', access('get', 'Node', 'n2', ''), false],
    ['changes another Node', access('patch', 'Node', 'n2', ''), false],
    ['reports on another Node', access('patch-status', 'Node', 'n2', ''), false],
    ['watches its own Node', reading('watch', 'Node', { 'metadata.name': 'n1' }), true],
    ['watches another Node', reading('watch', 'Node', { 'metadata.name': 'n2' }), false],
    ['lists all Nodes', reading('list', 'Node'), false],
    ['deletes its own Node', access('delete', 'Node', 'n1', ''), false],
    ['keeps its Lease', access('update', 'Lease', 'n1', 'kube-node-lease'), true],
    ['keeps a Lease of its name elsewhere', access('update', 'Lease', 'n1', 'kube-system'), false],
    ['follows the Leases of load balancers', { ...reading('watch', 'Lease'), namespace: 'kube-system' }, true],
    ['takes the Lease of an address', access('update', 'Lease', 'lb-192.0.2.1', 'kube-system'), true],
    ['takes such a Lease elsewhere', access('update', 'Lease', 'lb-192.0.2.1', 'default'), false],
    ['takes the Lease of the controllers', access('update', 'Lease', 'berth-controllers', 'kube-system'), false],
    ['makes the Lease of an address', access('create', 'Lease', 'lb-192.0.2.1', 'kube-system'), false],
    ['patches the Lease of an address', access('patch', 'Lease', 'lb-192.0.2.1', 'kube-system'), false],
    ['deletes the Lease of an address', access('delete', 'Lease', 'lb-192.0.2.1', 'kube-system'), false],
    ['follows Leases of all namespaces', reading('watch', 'Lease'), false],
    ['takes the Lease of another', access('update', 'Lease', 'n2', 'kube-node-lease'), false],
    ['takes the Lease of the scheduler', access('update', 'Lease', 'kube-scheduler', 'kube-system'), false],
    ['writes its figures', access('patch', 'NodeMetrics', 'n1', ''), true],
    ['writes figures of another', access('patch', 'NodeMetrics', 'n2', ''), false],
    ['reads its pod', access('get', 'Pod', 'mine'), true],
    ['reads a pod of another', access('get', 'Pod', 'theirs'), false],
    ['reads a pod that has no node', access('get', 'Pod', 'open'), false],
    ['watches its pods', reading('watch', 'Pod', { 'spec.nodeName': 'n1' }), true],
    ['lists pods of another', reading('list', 'Pod', { 'spec.nodeName': 'n2' }), false],
    ['lists pods that have no node', reading('list', 'Pod', { 'spec.nodeName': '' }), false],
    ['lists all pods', reading('list', 'Pod'), false],
    ['deletes all pods of its own at once', reading('delete-collection', 'Pod', { 'spec.nodeName': 'n1' }), false],
    ['changes the spec of its pod', access('patch', 'Pod', 'mine'), false],
    ['adds a container to its pod', access('patch-ephemeralcontainers', 'Pod', 'mine'), false],
    ['binds a pod to itself', access('create-binding', 'Pod', 'open'), false],
    ['evicts a pod', access('create-eviction', 'Pod', 'mine'), false],
    ['reads a log', access('logs', 'Pod', 'mine'), false],
    ['runs a program', access('exec', 'Pod', 'mine'), false],
    ['connects to a port', access('port-forward', 'Pod', 'theirs'), false],
    ['reads files', access('read-files', 'Pod', 'mine'), false],
    ['requests a certificate', access('create', 'CertificateSigningRequest', 'r', ''), true],
    ['lists requests for certificates', reading('list', 'CertificateSigningRequest'), false],
    ['changes a request for a certificate', access('patch', 'CertificateSigningRequest', 'r', ''), false],
    ['tells of events', access('create', 'Event', 'e'), true],
    ['reads events', reading('list', 'Event'), false],
    ['deletes events', reading('delete-collection', 'Event'), false],
    ['reads runtime classes', access('get', 'RuntimeClass', 'x', ''), true],
    ['changes runtime classes', access('patch', 'RuntimeClass', 'x', ''), false],
    ['watches the networks of all nodes', reading('watch', 'NodeNetwork'), true],
    ['changes the network of its own node', access('patch', 'NodeNetwork', 'n1', ''), false],
    ['watches the addresses of pods of all nodes', reading('watch', 'PodAddressSlice'), true],
    ['changes addresses of pods', access('patch', 'PodAddressSlice', 'x'), false],
    ['makes addresses of pods', access('create', 'PodAddressSlice', 'x'), false],
    ['deletes addresses of pods', reading('delete-collection', 'PodAddressSlice'), false],
    ['lists the network policies of all namespaces', reading('list', 'NetworkPolicy'), true],
    ['deletes a network policy', access('delete', 'NetworkPolicy', 'x'), false],
    ['makes a network policy', access('create', 'NetworkPolicy', 'x'), false],
    ['reads storage classes', reading('list', 'StorageClass'), true],
    ['watches volumes of its own', reading('watch', 'PersistentVolume', { 'spec.local.nodeName': 'n1' }), true],
    ['watches volumes of another', reading('watch', 'PersistentVolume', { 'spec.local.nodeName': 'n2' }), false],
    ['lists all volumes', reading('list', 'PersistentVolume'), false],
    ['makes a volume', access('create', 'PersistentVolume', 'x', ''), false],
    ['reports on a volume', access('patch-status', 'PersistentVolume', 'mine', ''), false],
    ['changes roles', access('create', 'ClusterRoleBinding', 'x', ''), false],
    ['finishes a namespace', access('update-finalize', 'Namespace', 'x', ''), false],
    ['makes a backup', access('create', 'Backup', '', ''), false],
    ['changes log levels', access('update', 'LogLevel', 'n1', ''), false],
    ['answers for a scheduler', access('update', 'Scheduler', '', ''), false],
    ["makes a token of its pods' account", access('create-token', 'ServiceAccount', 'mine'), true],
    ['makes a token of the account of pods of another', access('create-token', 'ServiceAccount', 'theirs'), false],
    ['makes a token of an account that no pod has yet', access('create-token', 'ServiceAccount', 'open'), false],
    ['makes a token in another namespace', access('create-token', 'ServiceAccount', 'mine', 'kube-system'), false],
    ['asks whose a token is', access('create', 'TokenReview', '', ''), false],
    ['impersonates another user', { verb: 'impersonate', kind: 'User', namespace: '', name: 'admin' }, false],
  ])('%s: %#', (_, what, answer) => {
    expect(world().may(what)).toBe(answer);
  });

  it.each(['Secret', 'ConfigMap', 'PersistentVolumeClaim'])(
    'reads each %s that its pods use, and does nothing else with any',
    (kind) => {
      const { may } = world();
      expect(['mine', 'theirs', 'open', 'other'].map((name) => may(access('get', kind, name)))).toEqual([
        true,
        false,
        false,
        false,
      ]);
      expect(may(access('get', kind, 'mine', 'other-namespace'))).toBe(false);
      for (const verb of all.slice(1)) expect(may(access(verb, kind, 'mine')), verb).toBe(false);
      for (const verb of ['list', 'watch', 'delete-collection'] as const) expect(may(reading(verb, kind))).toBe(false);
      expect(may({ ...access('list', kind, ''), selected: { 'metadata.name': 'mine' } })).toBe(false);
    },
  );

  it('reads the volumes of claims that its pods use', () => {
    const { may } = world();
    expect(['mine', 'theirs', 'other'].map((name) => may(access('get', 'PersistentVolume', name, '')))).toEqual([
      true,
      false,
      false,
    ]);
  });
});

test('what a node may read comes and goes with its pods', () => {
  const { may, put, remove, cacheOf } = world();
  const secret = access('get', 'Secret', 'shared');
  const [a, b] = [using('a', 'n1', secretVolume('shared')), using('b', 'n1', secretVolume('shared'))];
  put('Pod', using('a', undefined, secretVolume('shared')));
  expect(may(secret)).toBe(false);
  put('Pod', a);
  put('Pod', b);
  put('Pod', b);
  remove('Pod', a);
  expect(may(secret)).toBe(true);
  remove('Pod', b);
  expect(may(secret)).toBe(false);
  put('Pod', a);
  cacheOf('Pod').reset([], 1_000);
  expect(may(secret)).toBe(false);
  expect(may(access('get', 'Secret', 'mine'))).toBe(false);
});

test('a name that only looks like a node is none', () => {
  const { may } = world();
  expect(may(access('get', 'Node', 'n1', ''), { user: 'system:node:n1', groups: [] })).toBe(false);
  expect(may(access('get', 'Node', 'n1', ''), { user: 'n1', groups: ['system:nodes'] })).toBe(false);
});

test('a pod names what it needs in many places', () => {
  const key = (name: string) => ({ localObjectReference: { name } });
  const pod: Pod = using('p', 'n1', {
    serviceAccountName: 'sa',
    imagePullSecrets: [{ name: 'pull' }],
    initContainers: [{ name: 'i', env: [{ name: 'A', valueFrom: { secretKeyRef: { ...key('init'), key: 'k' } } }] }],
    containers: [
      { name: 'c', env: [{ name: 'B', valueFrom: { configMapKeyRef: { ...key('env'), key: 'k' } } }] },
      { name: 'd', envFrom: [{ secretRef: key('from') }, { configMapRef: key('from') }] },
    ],
    ephemeralContainers: [{ ephemeralContainerCommon: { name: 'e', envFrom: [{ secretRef: key('debug') }] } }],
    volumes: [
      { name: 'a', volumeSource: { secret: { secretName: 'files' } } },
      { name: 'b', volumeSource: { configMap: key('files') } },
      { name: 'c', volumeSource: { persistentVolumeClaim: { claimName: 'claim' } } },
      { name: 'd', volumeSource: { projected: { sources: [{ secret: key('part') }, { configMap: key('part') }] } } },
      { name: 'e', volumeSource: { emptyDir: {} } },
    ],
  });
  expect([...referencesOf(pod)].sort()).toEqual(
    [
      'serviceaccounts/sa',
      ...['pull', 'init', 'from', 'debug', 'files', 'part'].map((name) => `secrets/${name}`),
      ...['env', 'from', 'files', 'part'].map((name) => `configmaps/${name}`),
      'persistentvolumeclaims/claim',
    ].sort(),
  );
});
