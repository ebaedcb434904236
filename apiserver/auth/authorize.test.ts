import { expect, test } from 'vitest';
import { type Access, authorize, authorizeBackup, authorizeChange } from './authorize.ts';

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
  ['a new pod', access('create', 'Pod', 'p'), false],
  ['the end of a namespace', access('finalize', 'Namespace', 'x'), false],
  ['a secret', access('create', 'Secret', 's'), false],
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

test('only administrators back up the store: nobody else known, and no node', () => {
  authorizeBackup(admin);
  for (const identity of [node, user, nobody]) expect(() => authorizeBackup(identity)).toThrow('only administrators may');
});
