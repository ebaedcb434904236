import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const web = (name: string) => ({
  metadata: { name, namespace: 'default', labels: { app: 'web' } },
  spec: { containers: [{ name: 'main', image: 'nginx' }] },
});

test('a created object can be read, listed and deleted', async () => {
  const created = await server.client.pods.create(web('a'));
  expect(created.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/);
  expect(created.status?.phase).toBe('Pending');
  const read = await server.client.pods.get({ namespace: 'default', name: 'a' });
  expect(read).toEqual(created);
  const page = await server.client.pods.list({ namespace: 'default', labelSelector: 'app=web' });
  expect(page.items).toEqual([created]);
  await server.client.pods.delete({ namespace: 'default', name: 'a' });
  await expect(server.client.pods.get({ namespace: 'default', name: 'a' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
