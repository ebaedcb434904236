import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { NetworkPolicy } from '../../api/generated/types.ts';
import { NodePolicies } from './node-policies.ts';

const warnings: object[] = [];
const logger = { warn: (fields: object) => void warnings.push(fields) };
const create = (turnMs?: number) =>
  new NodePolicies({
    ...(turnMs !== undefined && { turnMs }),
    cluster: 'c',
    node: 'n',
    podLinks: 'bth*',
    gateway: '10.42.0.1',
    names: undefined,
    logger,
  });
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
  expect(warnings).toEqual([{ address: '10.42.0.2', namespace: 'shop', direction: 'ingress', policies: ['shop/p'] }]);
  expect(node.figures()).toMatchObject({ closedPods: 1 });
  node.policies.set('shop/p', ports(9_000));
  expect(await node.take('T')).toContain('jump ingress_');
  expect([warnings.length, node.figures().closedPods]).toEqual([1, 0]);
});

const peer = (index: number) => ({
  ...{ namespace: 'shop', labels: { app: 'web' }, ports: [], namespaceLabels: {} },
  addresses: [`10.43.${index >> 8}.${index & 255}`],
});
const fromWeb = (...names: string[]): NetworkPolicy => ({
  metadata: { namespace: 'shop', name: 'p' },
  spec: { ingress: names.map((name) => ({ from: [{ podSelector: { matchLabels: { [name]: 'web' } } }] })) },
});

it('lets other work be done between peers, policies and elements, and takes what is set meanwhile the next time', async () => {
  const node = create(0);
  for (let i = 0; i < 1_000; i++) node.peers.set(`${i}`, peer(i));
  node.policies.set('shop/p', fromWeb('app', 'other'));
  node.locals.set('10.42.0.2', facts);
  await node.take(undefined);
  node.policies.set('shop/p', fromWeb('app'));
  node.policies.set('shop/q', fromWeb('none'));
  node.locals.set('10.42.0.3', { ...facts, labels: { app: 'web' } });
  for (let i = 0; i < 100; i++) node.peers.set(`${i}`, undefined);
  let [turns, isDone] = [0, false];
  const taken = node.take('T').finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await setImmediate();
    if (++turns === 50) node.peers.set('0', peer(0));
  }
  // Two sets are asked for each of 100 peers.
  expect(turns).toBeGreaterThan(200);
  expect((await taken).match(/10\.43\.0\.\d+/g)).toHaveLength(100);
  expect(node.hasChanges()).toBe(true);
  expect(await node.take('T')).toMatch(/^add element inet T pods_\w+ { 10.43.0.0 }$/);
  expect(node.hasChanges()).toBe(false);
});

it('lets other work be done while a set is filled and its elements are rendered', async () => {
  const node = create(0);
  for (let i = 0; i < 3_000; i++) node.peers.set(`${i}`, peer(i));
  await node.take(undefined);
  node.policies.set('shop/p', fromWeb('app'));
  node.locals.set('10.42.0.2', facts);
  let [turns, isDone] = [0, false];
  const taken = node.take('T').finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await setImmediate();
    turns++;
  }
  // 30 times 100 peers, 30 times 100 elements of the difference, 3 times 1,000 that are rendered.
  expect(turns).toBeGreaterThan(60);
  expect((await taken).match(/10\.43\./g)).toHaveLength(3_000);
});
