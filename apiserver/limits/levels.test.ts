import { expect, it } from 'vitest';
import { controlPlane, groups, nodeUser, serviceAccountUser } from '../authn/identity.ts';
import { flowOf } from './levels.ts';

it.each([
  ['an administrator', 'admin', [groups.masters], 'control'],
  ['the scheduler', controlPlane.scheduler, [], 'control'],
  ['the controllers', controlPlane.controllers, [], 'control'],
  ['a node', nodeUser('n1'), [groups.nodes], 'system'],
  ['a user with the name of a node', nodeUser('n1'), [], 'tenants'],
  ['a service account of kube-system', serviceAccountUser('kube-system', 'dns'), [], 'system'],
  ['a service account of another namespace', serviceAccountUser('team', 'dns'), [], 'tenants'],
  ['a user', 'anna', ['team'], 'tenants'],
])('%s belongs to a priority level', (_, user, own, level) => {
  expect(flowOf({ user, groups: own }).level).toBe(level);
});

it('the service accounts of a namespace are one flow, and no user has its name', () => {
  const flow = (user: string) => flowOf({ user, groups: [] }).key;
  expect(flow(serviceAccountUser('team', 'a'))).toBe(flow(serviceAccountUser('team', 'b')));
  expect(flow(serviceAccountUser('team', 'a'))).not.toBe(flow(serviceAccountUser('other', 'a')));
  expect(flow('anna')).not.toBe(flow('bert'));
});
