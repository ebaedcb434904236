import { expect, it } from 'vitest';
import type { NetworkPolicy } from '../../api/generated/types.ts';
import { NodePolicies } from './node-policies.ts';

const warnings: object[] = [];
const logger = { warn: (fields: object) => void warnings.push(fields) };
const create = () =>
  new NodePolicies({ cluster: 'c', node: 'n', podLinks: 'bth*', gateway: '10.42.0.1', names: undefined, logger });
const ports = (count: number): NetworkPolicy => ({
  metadata: { namespace: 'shop', name: 'p' },
  spec: { ingress: [{ ports: Array.from({ length: count }, (_, i) => ({ port: { type: 0, intVal: 1 + 2 * i } })) }] },
});
const facts = { namespace: 'shop', labels: {}, ports: [] };

it('tells once which pods are closed because their policies are too large, and counts them', async () => {
  const node = create();
  node.policies.set('shop/p', ports(11_000));
  node.locals.set('10.42.0.2', facts);
  await node.take(undefined);
  node.locals.set('10.42.0.2', facts);
  expect(await node.take('T')).toBe('');
  expect(warnings).toEqual([{ address: '10.42.0.2', namespace: 'shop', direction: 'ingress' }]);
  expect(node.figures()).toMatchObject({ closedPods: 1 });
  node.policies.set('shop/p', ports(9_000));
  expect(await node.take('T')).toContain('jump ingress_');
  expect([warnings.length, node.figures().closedPods]).toEqual([1, 0]);
});
