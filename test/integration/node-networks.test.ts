import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiError } from '../../api/errors/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

let server: RunningServer;
let stopControllers: () => Promise<void>;
beforeAll(async () => {
  server = await startServer({ backend: 'memory' });
  stopControllers = await startControllers(server);
});
afterAll(async () => {
  await stopControllers();
  await server.stop();
  await server.remove();
});

const networkOf = async (name: string): Promise<string> => {
  try {
    const { addresses = [], podCIDRs = [] } = await server.client.nodeNetworks.get({ name });
    return `${addresses.join()} ${podCIDRs.join()}`;
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
};
const soon = { timeout: 10_000 };

test('the network of a node follows its Node, and goes with it', async () => {
  const { nodes } = server.client;
  await nodes.create({ metadata: { name: 'n' } });
  const addresses = [{ type: 'InternalIP', address: '10.0.0.7' }];
  await nodes.patch({ name: 'n', subresource: 'status' }, { status: { addresses } });
  await expect.poll(() => networkOf('n'), soon).toBe('10.0.0.7 10.42.0.0/24');
  const moved = { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.8' }] } };
  await nodes.patch({ name: 'n', subresource: 'status' }, moved);
  await expect.poll(() => networkOf('n'), soon).toBe('10.0.0.8 10.42.0.0/24');
  await server.client.nodeNetworks.delete({ name: 'n' });
  await expect.poll(() => networkOf('n'), soon).toBe('10.0.0.8 10.42.0.0/24');
  await nodes.delete({ name: 'n' });
  await expect.poll(() => networkOf('n'), soon).toBe('NOT_FOUND');
});

test('a start with another --cluster-cidr breaks no node: its range stays, all nodes know it, and it is told', async () => {
  const { nodes, nodeNetworks, events } = server.client;
  await nodes.create({ metadata: { name: 'old' } });
  await expect.poll(() => networkOf('old'), soon).toMatch(/^ 10\.42\./);
  await stopControllers();
  stopControllers = await startControllers(server, undefined, { clusterCidr: '10.50.0.0/16' });
  await nodes.create({ metadata: { name: 'new' } });
  const cidrs = async (name: string) => (await nodeNetworks.get({ name }).catch(() => undefined))?.clusterCIDRs;
  for (const name of ['old', 'new']) await expect.poll(() => cidrs(name), soon).toEqual(['10.50.0.0/16', '10.42.0.0/16']);
  expect(await networkOf('new')).toBe(' 10.50.0.0/24');
  const told = async () =>
    (await events.list({ namespace: 'default' })).items.map(({ reason, message }) => `${reason} ${message}`);
  await expect
    .poll(told, soon)
    .toContainEqual(expect.stringMatching(/^CIDROutsideCluster .* are not in --cluster-cidr 10\.50\.0\.0\/16/));
  // The last node of the old range goes: nothing says it any more.
  await nodes.delete({ name: 'old' });
  await expect.poll(() => cidrs('new'), soon).toEqual(['10.50.0.0/16']);
});
