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
