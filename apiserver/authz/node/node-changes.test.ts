import { expect, test } from 'vitest';
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

test('a node takes the Lease of an address for itself or gives it back, and changes nothing else of it', () => {
  const update = { ...access('update', 'Lease', 'lb-192.0.2.1'), namespace: 'kube-system' };
  const lease = (holderIdentity: string, metadata: object = { labels: { a: 'b' } }) => ({ metadata, spec: { holderIdentity } });
  const change = (next: ReturnType<typeof lease>) => checkNodeNext(node, update, { next, previous: lease('n2') });
  for (const holder of ['n1', '']) change(lease(holder));
  expect(() => change(lease('n3'))).toThrow('leases "lb-192.0.2.1" is forbidden: a node cannot give it to another node');
  expect(() => change(lease('n1', {}))).toThrow('a node cannot change its labels');
  expect(() => change(lease('n1', { labels: { a: 'b' }, finalizers: ['x/y'] }))).toThrow('change its finalizers');
  checkNodeNext(user, update, { next: lease('n3', {}), previous: lease('n2') });
});
