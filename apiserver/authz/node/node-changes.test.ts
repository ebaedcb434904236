import { describe, expect, test } from 'vitest';
import { onlyOnNode } from '../../../api/kinds/storage-class/local-path.ts';
import type { Access, AccessVerb } from '../attributes.ts';
import { checkNodeChange, checkNodeCreate, checkNodeNext } from './node-changes.ts';

const node = { user: 'system:node:n1', groups: ['system:nodes'] };
const admin = { user: 'admin', groups: ['system:masters'] };
const user = { user: 'ada', groups: ['dev'] };
const nobody = { user: 'someone', groups: ['system:nodes'] };
const access = (verb: AccessVerb, kind: string, name: string): Access => ({ verb, kind, namespace: 'default', name });
const boundTo = (nodeName?: string) => ({ metadata: { name: 'p' }, spec: nodeName === undefined ? {} : { nodeName } });

test('a node writes only to pods that are bound to it', () => {
  const status = access('patch-status', 'Pod', 'p');
  checkNodeChange(node, status, boundTo('n1'));
  expect(() => checkNodeChange(node, status, boundTo('n2'))).toThrow(/user "system:node:n1" may not patch-status pod "p"/);
  expect(() => checkNodeChange(node, status, boundTo())).toThrow(/may not/);
  expect(() => checkNodeChange(nobody, status, boundTo('n1'))).toThrow(/may not/);
  checkNodeChange(admin, status, boundTo('n2'));
  checkNodeChange(user, status, boundTo());
});

test('a node changes only events that it told of', () => {
  const patch = access('patch', 'Event', 'e');
  const toldBy = (host?: string) => ({ metadata: { name: 'e' }, ...(host === undefined ? {} : { source: { host } }) });
  checkNodeChange(node, patch, toldBy('n1'));
  for (const other of [toldBy('n2'), toldBy()]) expect(() => checkNodeChange(node, patch, other)).toThrow('may not patch event');
});

test('a node lets volumes go that only it has, are deleted and wait for it', () => {
  const patch = access('patch', 'PersistentVolume', 'v');
  const of = (name: string, metadata: object) => ({ metadata, spec: { nodeAffinity: onlyOnNode(name) } });
  const leaving = { deletionTimestamp: { seconds: 1 }, finalizers: ['berth.io/local-path'] };
  checkNodeChange(node, patch, of('n1', leaving));
  checkNodeChange(user, patch, of('n2', {}));
  for (const wrong of [of('n2', leaving), of('n1', { ...leaving, finalizers: [] }), of('n1', { finalizers: leaving.finalizers })])
    expect(() => checkNodeChange(node, patch, wrong)).toThrow('may not patch persistentvolume "v"');
});

test('a node makes mirror pods of its own, and only administrators make others', () => {
  const create = access('create', 'Pod', 'p');
  const mirrorOn = (nodeName?: string) => ({
    ...boundTo(nodeName),
    metadata: { name: 'p', annotations: { 'kubernetes.io/config.mirror': 'x' } },
  });
  const mirror = mirrorOn('n1');
  const plain = boundTo('n1');
  checkNodeCreate(node, create, mirror);
  checkNodeCreate(admin, create, mirror);
  checkNodeCreate(user, create, plain);
  checkNodeCreate(node, access('create', 'Event', 'e'), { metadata: { name: 'e' } });
  expect(() => checkNodeCreate(node, create, plain)).toThrow('node "n1" can only create mirror pods');
  expect(() => checkNodeCreate(node, create, mirrorOn('n2'))).toThrow(
    'node "n1" can only create pods with spec.nodeName set to itself',
  );
  expect(() => checkNodeCreate(nobody, create, mirrorOn())).toThrow('can only create pods with');
  expect(() => checkNodeCreate(user, create, mirror)).toThrow('which only the agent of a node may set');
});

test('a node gives no finalizers to the mirror pods and events that it makes in any namespace', () => {
  const finalizers = ['example.com/stay'];
  const mirror = {
    metadata: { name: 'p', annotations: { 'kubernetes.io/config.mirror': 'x' }, finalizers },
    spec: { nodeName: 'n1' },
  };
  const [event, kept] = [{ metadata: { name: 'e' } }, { metadata: { name: 'e', finalizers } }];
  expect(() => checkNodeCreate(node, access('create', 'Pod', 'p'), mirror)).toThrow('a node may not give it finalizers');
  expect(() => checkNodeCreate(node, access('create', 'Event', 'e'), kept)).toThrow('a node may not give it finalizers');
  checkNodeCreate(user, access('create', 'Event', 'e'), kept);
  const patch = access('patch', 'Event', 'e');
  expect(() => checkNodeNext(node, patch, { next: kept, previous: event })).toThrow('cannot change finalizers of events');
  checkNodeNext(node, patch, { next: kept, previous: kept });
  checkNodeNext(admin, patch, { next: kept, previous: event });
});

test.each([
  ['ownerReferences', [{ apiVersion: 'v1', kind: 'Node', name: 'absent', uid: 'u' }]],
  ['finalizers', ['example.com/stay']],
] as const)('a node changes no %s of its own Node, by which it would end, or stay', (field, value) => {
  const plain = { metadata: { name: 'n1' } };
  const tied = { metadata: { name: 'n1', [field]: value } };
  const sentence = `node "n1" may not change its own ${field}`;
  for (const verb of ['patch', 'update', 'patch-status', 'update-status'] as const) {
    const change = access(verb, 'Node', 'n1');
    expect(() => checkNodeNext(node, change, { next: tied, previous: plain })).toThrow(sentence);
    expect(() => checkNodeNext(node, change, { next: plain, previous: tied })).toThrow(sentence);
    checkNodeNext(node, change, { next: tied, previous: tied });
    checkNodeNext(admin, change, { next: tied, previous: plain });
  }
  expect(() => checkNodeCreate(node, access('create', 'Node', 'n1'), tied)).toThrow(`may not give itself ${field}`);
});

test('a node names its Node as the owner of its Lease, and no owner of its Node', () => {
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u' }];
  const [previous, next] = [{ metadata: { name: 'n1' } }, { metadata: { name: 'n1', ownerReferences } }];
  const lease: Access = { verb: 'update', kind: 'Lease', namespace: 'kube-node-lease', name: 'n1' };
  checkNodeChange(node, lease, previous);
  checkNodeNext(node, lease, { next, previous });
  checkNodeCreate(node, { ...lease, verb: 'create' }, next);
  expect(() => checkNodeNext(node, access('update', 'Node', 'n1'), { next, previous })).toThrow('its own ownerReferences');
});

test.each([
  ['labels', { app: 'web' }],
  ['finalizers', ['example.com/stay']],
] as const)('a node changes no %s of a pod through its status', (field, value) => {
  const plain = { metadata: { name: 'p' } };
  const other = { metadata: { name: 'p', [field]: value } };
  for (const verb of ['patch-status', 'update-status'] as const) {
    const change = access(verb, 'Pod', 'p');
    for (const [next, previous] of [
      [other, plain],
      [plain, other],
    ] as const) {
      const sentence = `a node cannot update ${field} through pod status`;
      expect(() => checkNodeNext(node, change, { next, previous })).toThrow(sentence);
      checkNodeNext(admin, change, { next, previous });
    }
    checkNodeNext(node, change, { next: { metadata: { name: 'p', annotations: { a: 'b' } } }, previous: plain });
  }
});

test.each([
  ['ownerReferences', [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u' }]],
  ['finalizers', ['example.com/stay']],
] as const)('a request for a certificate with %s is refused to nodes and to joining machines', (field, value) => {
  const create = access('create', 'CertificateSigningRequest', 'r');
  const tied = { metadata: { name: 'r', [field]: value } };
  const joining = { user: 'system:bootstrap:abcdef', groups: ['system:bootstrappers'] };
  for (const identity of [node, joining]) {
    checkNodeCreate(identity, create, { metadata: { name: 'r' } });
    expect(() => checkNodeCreate(identity, create, tied)).toThrow(`a node may not give it ${field}`);
  }
  checkNodeCreate(user, create, tied);
});

test('a node says what it is, and not which pods it gets', () => {
  const patch = access('patch', 'Node', 'n1');
  const of = (labels: Record<string, string>, spec: object = {}) => ({ metadata: { name: 'n1', labels }, spec });
  const tainted = { taints: [{ key: 'a', effect: 'NoSchedule' }] };
  checkNodeNext(node, patch, { next: of({ 'kubernetes.io/os': 'linux' }, tainted), previous: of({}, tainted) });
  expect(() => checkNodeNext(node, patch, { next: of({}), previous: of({}, tainted) })).toThrow('may not change its own spec');
  expect(() =>
    checkNodeNext(node, patch, { next: of({}, { unschedulable: false }), previous: of({}, { unschedulable: true }) }),
  ).toThrow('spec');
  const trusted = { 'node-restriction.kubernetes.io/trusted': 'yes' };
  expect(() => checkNodeNext(node, patch, { next: of(trusted), previous: of({}) })).toThrow(
    'labels of node-restriction.kubernetes.io/, and of kubernetes.io but those that say what a machine is (node-restriction.kubernetes.io/trusted)',
  );
  expect(() => checkNodeNext(node, patch, { next: of({}), previous: of(trusted) })).toThrow('labels');
  checkNodeNext(admin, patch, { next: of(trusted), previous: of({}) });
  expect(() => checkNodeCreate(node, access('create', 'Node', 'n1'), of(trusted))).toThrow('may not give itself labels');
  checkNodeCreate(node, access('create', 'Node', 'n1'), of({}, tainted));
});

test.each([
  ['0.1.0', '0.2.0', true],
  ['0.2.0', '0.1.0', true],
  ['0.1.0', '0.3.0', false],
  ['0.3.0', '0.1.0', false],
  ['1.0.0', '0.1.0', false],
])('an agent of version %s comes to a server of %s: %s', (agent, server, isFine) => {
  const of = (version?: string) => ({
    metadata: { name: 'n1' },
    status: version === undefined ? {} : { nodeInfo: { kubeletVersion: `v${version}` } },
  });
  const patch = access('patch-status', 'Node', 'n1');
  const come = (before?: string) => checkNodeNext(node, patch, { next: of(agent), previous: of(before), server });
  if (isFine) come();
  else
    expect(() => come()).toThrow(
      `the agent of node "n1" is Berth ${agent} and the server ${server}: they may be one minor version apart at most`,
    );
  // One that is there already is let be: its server has gone on.
  come(agent);
});

test.each([{ podCIDR: '10.42.1.0/24' }, { podCIDRs: ['10.42.1.0/24'] }])(
  'a node creates itself without a range of pods: %j',
  (spec) => {
    const create = access('create', 'Node', 'n1');
    expect(() => checkNodeCreate(node, create, { metadata: { name: 'n1' }, spec } as object)).toThrow(
      'node "n1" may not give itself spec.podCIDR: that is for administrators',
    );
    checkNodeCreate(admin, create, { metadata: { name: 'n1' }, spec } as object);
  },
);

describe('a node that changes the Lease of an address', () => {
  const update = { ...access('update', 'Lease', 'lb-192.0.2.1'), namespace: 'kube-system' };
  const labels = { a: 'b', 'berth.io/lease-of': 'load-balancer-address' };
  const lease = (
    holderIdentity: string,
    { metadata = { labels }, seconds = 4 }: { metadata?: object; seconds?: number } = {},
  ) => ({
    metadata,
    spec: { holderIdentity, leaseDurationSeconds: seconds },
  });
  type Stored = ReturnType<typeof lease>;
  const change = (next: Stored, previous: Stored, quietMs = 0, hasService = true) =>
    checkNodeNext(node, update, { next, previous, quietMs, hasService });

  test('takes a free one, renews its own and gives it back', () => {
    change(lease('n1'), lease(''));
    for (const next of [lease('n1'), lease('n1', { seconds: 16 }), lease('')]) change(next, lease('n1'));
  });

  test.each([
    [4, 3_800, false],
    [4, 3_950, true],
    [16, 4_500, false],
    [16, 16_000, true],
    [0, 3_000, false],
    [1_000_000, 15_000, false],
    [1_000_000, 16_000, true],
  ])('takes one of %i s from another node after %i ms of silence: %s', (seconds, quietMs, isFine) => {
    const take = () => change(lease('n1'), lease('n2', { seconds }), quietMs);
    if (isFine) take();
    else expect(take).toThrow(/cannot take it from node "n2" before it has run out, in \d+ ms/);
  });

  test('neither takes nor keeps one of an address that it may not announce, and gives it back', () => {
    const [own, free] = ['n1', ''].map((holder) => lease(holder, { metadata: { labels: { a: 'b' } } })) as [Stored, Stored];
    for (const before of [free, own])
      expect(() => change(own, before)).toThrow(
        'leases.coordination.k8s.io "lb-192.0.2.1" is forbidden: a node cannot hold it: the address is outside of the pool or no longer a service\'s',
      );
    for (const holder of ['', 'n1'])
      expect(() => change(lease('n1'), lease(holder), 0, false)).toThrow(
        'a node cannot hold it: no service of type LoadBalancer has the address',
      );
    expect(() => change(lease('n1'), lease('n2'), 60_000, false)).toThrow('no service of type LoadBalancer');
    change(free, own, 0, false);
  });

  test('is refused what is not its own', () => {
    for (const holder of ['', 'n1']) {
      const give = () => change(lease('n3'), lease(holder));
      expect(give).toThrow('leases.coordination.k8s.io "lb-192.0.2.1" is forbidden: a node cannot give it to another node');
    }
    for (const holder of ['', 'n2'])
      expect(() => change(lease(''), lease(holder), 60_000)).toThrow('a node cannot give back what it does not hold');
    expect(() => change(lease('n1', { seconds: 17 }), lease('n1'))).toThrow('a node cannot hold it for more than 16 s');
    expect(() => change(lease('n1', { metadata: {} }), lease(''))).toThrow('a node cannot change its labels');
    const tied = { metadata: { labels, finalizers: ['x/y'] } };
    expect(() => change(lease('n1', tied), lease(''))).toThrow('change its finalizers');
    checkNodeNext(user, update, { next: lease('n3', { metadata: {} }), previous: lease('n2') });
  });
});
