import { expect, test } from 'vitest';
import { onlyOnNode } from '../../api/kinds/storage-class/local-path.ts';
import { type Access, authorize, authorizeBackup, authorizeChange, authorizeCreate } from './authorize.ts';

const node = { user: 'system:node:n1', groups: ['system:nodes'] };
const admin = { user: 'admin', groups: ['system:masters'] };
const user = { user: 'ada', groups: ['dev'] };
const nobody = { user: 'someone', groups: ['system:nodes'] };
const access = (verb: Access['verb'], kind: string, name: string): Access => ({ verb, kind, namespace: 'default', name });
const boundTo = (nodeName?: string) => ({ metadata: { name: 'p' }, spec: nodeName === undefined ? {} : { nodeName } });

test.each([
  ['its own node', access('patch-status', 'Node', 'n1'), true],
  ['another node', access('patch-status', 'Node', 'n2'), false],
  ['its own lease', access('update', 'Lease', 'n1'), true],
  ['another lease', access('update', 'Lease', 'n2'), false],
  ['an event', access('create', 'Event', 'e'), true],
  ['all events', access('delete-collection', 'Event', ''), false],
  ['the status of a pod', access('update-status', 'Pod', 'p'), true],
  ['the end of a pod', access('delete', 'Pod', 'p'), true],
  ['the spec of a pod', access('patch', 'Pod', 'p'), false],
  ['a new binding', access('bind', 'Pod', 'p'), false],
  ['an eviction', access('evict', 'Pod', 'p'), false],
  ['the end of a namespace', access('finalize', 'Namespace', 'x'), false],
  ['a secret', access('create', 'Secret', 's'), false],
  ['the end of a volume', access('patch', 'PersistentVolume', 'v'), true],
  ['the phase of a volume', access('patch-status', 'PersistentVolume', 'v'), false],
  ['a new volume', access('create', 'PersistentVolume', 'v'), false],
])('a node writes %s: %o', (_, what, may) => {
  if (may) authorize(node, what);
  else expect(() => authorize(node, what)).toThrow(/may not/);
  authorize(admin, what);
  authorize(user, what);
});

test('a node writes only to pods that are bound to it', () => {
  const status = access('patch-status', 'Pod', 'p');
  authorizeChange(node, status, boundTo('n1'));
  expect(() => authorizeChange(node, status, boundTo('n2'))).toThrow(/user "system:node:n1" may not patch-status pod "p"/);
  expect(() => authorizeChange(node, status, boundTo())).toThrow(/may not/);
  expect(() => authorizeChange(nobody, status, boundTo('n1'))).toThrow(/may not/);
  authorizeChange(admin, status, boundTo('n2'));
  authorizeChange(user, status, boundTo());
});

test('a node lets volumes go that only it has, are deleted and wait for it', () => {
  const patch = access('patch', 'PersistentVolume', 'v');
  const of = (name: string, metadata: object) => ({ metadata, spec: { nodeAffinity: onlyOnNode(name) } });
  const leaving = { deletionTimestamp: { seconds: 1 }, finalizers: ['berth.io/local-path'] };
  authorizeChange(node, patch, of('n1', leaving));
  authorizeChange(user, patch, of('n2', {}));
  for (const wrong of [of('n2', leaving), of('n1', { ...leaving, finalizers: [] }), of('n1', { finalizers: leaving.finalizers })])
    expect(() => authorizeChange(node, patch, wrong)).toThrow('may not patch persistentvolume "v"');
});

test('a node makes mirror pods of its own, and nobody but administrators makes others', () => {
  const create = access('create', 'Pod', 'p');
  const mirrorOn = (nodeName?: string) => ({
    ...boundTo(nodeName),
    metadata: { name: 'p', annotations: { 'kubernetes.io/config.mirror': 'x' } },
  });
  const mirror = mirrorOn('n1');
  const plain = boundTo('n1');
  authorizeCreate(node, create, mirror);
  authorizeCreate(admin, create, mirror);
  authorizeCreate(user, create, plain);
  authorizeCreate(node, access('create', 'Event', 'e'), { metadata: { name: 'e' } });
  expect(() => authorizeCreate(node, create, plain)).toThrow('node "n1" can only create mirror pods');
  expect(() => authorizeCreate(node, create, mirrorOn('n2'))).toThrow(
    'node "n1" can only create pods with spec.nodeName set to itself',
  );
  expect(() => authorizeCreate(nobody, create, mirrorOn())).toThrow('can only create pods with');
  expect(() => authorizeCreate(user, create, mirror)).toThrow('which only the agent of a node may set');
});

test('only administrators back up the store: nobody else known, and no node', () => {
  authorizeBackup(admin);
  for (const identity of [node, user, nobody]) expect(() => authorizeBackup(identity)).toThrow('only administrators may');
});
