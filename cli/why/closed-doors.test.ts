import { expect, it } from 'vitest';
import type { NetworkPolicy, NetworkPolicySpec, Pod } from '../../api/generated/types.ts';
import { closedDoors } from './closed-doors.ts';

const podOf = (name: string, labels: Record<string, string> = { app: 'web' }, spec: Pod['spec'] = {}): Pod => ({
  metadata: { name, labels },
  spec,
});
const policyOf = (name: string, spec: NetworkPolicySpec = {}): NetworkPolicy => ({
  metadata: { name },
  spec: { podSelector: {}, policyTypes: ['Ingress'], ...spec },
});
const deny = policyOf('deny');
const pods = [podOf('a'), podOf('b', { app: 'web', tier: 'back' })];

it('a policy without ingress rules closes the door of the pods that it selects', () => {
  expect(closedDoors([deny], pods)).toEqual([
    '2 of 2 pods accept no connection where network policies are enforced: the network policy "deny" has no ingress rule, ' +
      'and no other policy allows any',
  ]);
  const back = policyOf('back', { podSelector: { matchLabels: { tier: 'back' } } });
  expect(closedDoors([back], pods)[0]).toMatch(/^1 of 2 pods .* "back" has/);
  expect(closedDoors([deny, back], pods)[0]).toContain('the network policies "back", "deny" have no ingress rule');
});

it('of many policies the first are named', () => {
  const many = Array.from({ length: 7 }, (_, i) => policyOf(`p${i}`));
  expect(closedDoors(many, pods)[0]).toContain('"p0", "p1", "p2", "p3", "p4" and 2 more have no ingress rule');
});

it.each<[string, NetworkPolicy[], Pod[]]>([
  ['there is no policy', [], pods],
  ['another policy of the pods has a rule', [deny, policyOf('open', { ingress: [{}] })], pods],
  ['the policy is about egress', [policyOf('out', { policyTypes: ['Egress'] })], pods],
  ['the policy selects other pods', [policyOf('other', { podSelector: { matchLabels: { app: 'db' } } })], pods],
  ['the pods are on the network of their host', [deny], [podOf('a', {}, { hostNetwork: true })]],
  ['there are no pods', [deny], []],
])('nothing is said when %s', (_title, policies, of) => expect(closedDoors(policies, of)).toEqual([]));
