import { expect, it } from 'vitest';
import type { Lease } from '../../api/generated/types.ts';
import { loadBalancerLabel } from '../../api/meta/load-balancers.ts';
import { decideLeases, quietMs } from './decide-leases.ts';

const labels = { [loadBalancerLabel.name]: loadBalancerLabel.value, other: 'x' };
const lease = (name: string, holderIdentity = '', isLabelled = true, namespace = 'kube-system'): Lease => ({
  metadata: { namespace, name, labels: isLabelled ? labels : { other: 'x' } },
  spec: { holderIdentity },
});
const decide = (leases: readonly Lease[], held: readonly string[], quiet = 0) => {
  const { steps, isWaiting } = decideLeases(leases, new Set(held), () => quiet);
  return [
    ...steps.map((step) => `${step.do} ${step.lease.metadata?.name} ${JSON.stringify(step.lease.metadata?.labels)}`),
    isWaiting,
  ];
};
const [all, rest] = [JSON.stringify(labels), '{"other":"x"}'];

it.each([
  [
    'creates one for an address without',
    decide([], ['192.0.2.1']),
    ['create lb-192.0.2.1 {"berth.io/lease-of":"load-balancer-address"}', false],
  ],
  ['leaves one that is right', decide([lease('lb-192.0.2.1', 'n')], ['192.0.2.1']), [false]],
  [
    'takes the label off one that is held for no service',
    decide([lease('lb-192.0.2.1', 'n')], []),
    [`update lb-192.0.2.1 ${rest}`, true],
  ],
  ['waits for the holder', decide([lease('lb-192.0.2.1', 'n', false)], [], quietMs - 1), [true]],
  [
    'deletes one whose holder is silent',
    decide([lease('lb-192.0.2.1', 'n', false)], [], quietMs),
    [`delete lb-192.0.2.1 ${rest}`, false],
  ],
  ['deletes one that is given back', decide([lease('lb-192.0.2.1')], []), [`delete lb-192.0.2.1 ${all}`, false]],
  [
    'gives the label back',
    decide([lease('lb-192.0.2.1', 'n', false)], ['192.0.2.1']),
    ['update lb-192.0.2.1 {"other":"x","berth.io/lease-of":"load-balancer-address"}', false],
  ],
  [
    'passes over other Leases',
    decide([lease('lb-x'), lease('berth-controllers', 'a'), lease('lb-192.0.2.1', '', true, 'b')], []),
    [false],
  ],
])('%s', (_, found, expected) => expect(found).toEqual(expected));
