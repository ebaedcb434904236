import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import type { JsonObject } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

const metrics = new MetricsRegistry();
let server: RunningServer;
let stopControllers: () => Promise<void>;
beforeAll(async () => {
  server = await startServer({ backend: 'memory', metrics });
  stopControllers = await startControllers(server);
});
afterAll(async () => {
  await stopControllers();
  await server.stop();
  await server.remove();
});

async function makeTeam(namespace: string, hard: Record<string, string>): Promise<void> {
  await server.client.namespaces.create({ metadata: { name: namespace } });
  await server.client.objects.create('ResourceQuota', { metadata: { namespace, name: 'q' }, spec: { hard } });
}

const deployment = (namespace: string, name: string, replicas: number): JsonObject => ({
  metadata: { namespace, name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
});

const podsOf = async (namespace: string): Promise<Pod[]> => (await server.client.pods.list({ namespace, limit: 500 })).items;

/** How many calls and writes the server has refused as forbidden so far. */
function refusals(): number {
  const lines = formatMetrics(metrics, 'prometheus').matchAll(/^\w+_total\{.*code="PERMISSION_DENIED".*\} (\d+)$/gm);
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

async function usedOf(namespace: string): Promise<Record<string, string | undefined>> {
  const { status } = await server.client.resourceQuotas.get({ namespace, name: 'q' });
  return Object.fromEntries(Object.entries(status?.used ?? {}).map(([name, { string }]) => [name, string]));
}

test('the status of a quota says what is in use, within moments and in few writes', async () => {
  await makeTeam('used', { pods: '100', 'requests.cpu': '10', 'count/configmaps': '200', 'requests.storage': '1Ti' });
  const { objects, pods } = server.client;
  await expect
    .poll(() => usedOf('used'))
    .toEqual({ pods: '0', 'requests.cpu': '0', 'count/configmaps': '0', 'requests.storage': '0' });
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '150m' } } }];
  for (let i = 0; i < 20; i++) {
    await objects.create('Pod', { metadata: { namespace: 'used', name: `p${i}` }, spec: { containers } });
    await objects.create('ConfigMap', { metadata: { namespace: 'used', name: `c${i}` } });
  }
  const requests = { storage: '5Gi' };
  await objects.create('PersistentVolumeClaim', {
    metadata: { namespace: 'used', name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests } },
  });
  const all = { pods: '20', 'requests.cpu': '3', 'count/configmaps': '20', 'requests.storage': '5Gi' };
  await expect.poll(() => usedOf('used'), { timeout: 10_000 }).toEqual(all);
  await pods.patch({ namespace: 'used', name: 'p0', subresource: 'status' }, { status: { phase: 'Failed' } });
  await expect.poll(() => usedOf('used'), { timeout: 10_000 }).toEqual({ ...all, pods: '19', 'requests.cpu': '2850m' });
  const { revisions } = await objects.history('ResourceQuota', { namespace: 'used', name: 'q' });
  expect(revisions.length).toBeLessThan(25);
}, 60_000);

test('a Deployment whose pods a quota refuses says so, and goes on soon after the quota was raised', async () => {
  await makeTeam('full', { pods: '2' });
  const { objects, deployments, events, resourceQuotas } = server.client;
  await objects.create('Deployment', deployment('full', 'web', 4));
  const condition = async () => {
    const { status } = await deployments.get({ namespace: 'full', name: 'web' });
    return status?.conditions?.find(({ type }) => type === 'ReplicaFailure');
  };
  await expect.poll(condition, { timeout: 20_000 }).toMatchObject({ status: 'True', reason: 'FailedCreate' });
  expect((await condition())?.message).toMatch(
    /^pods "web-[a-z0-9]+-[a-z0-9]{5}" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2$/,
  );
  expect(await podsOf('full')).toHaveLength(2);
  const reasons = async () =>
    (await events.list({ namespace: 'full' })).items.map(({ reason, message }) => `${reason}: ${message}`);
  await expect
    .poll(async () => (await reasons()).join('\n'), { timeout: 20_000 })
    .toMatch(/FailedCreate: Error creating: pods "web-/);
  // The waits double from 0.2 s, less up to half at random: after the sixth refusal the next one is at least 3.2 s.
  await expect.poll(refusals, { timeout: 30_000 }).toBeGreaterThanOrEqual(6);
  const raisedAt = Date.now();
  await resourceQuotas.patch({ namespace: 'full', name: 'q' }, { spec: { hard: { pods: '3' } } });
  await expect.poll(async () => (await podsOf('full')).length, { timeout: 20_000, interval: 20 }).toBe(3);
  const tookMs = Date.now() - raisedAt;
  await resourceQuotas.patch({ namespace: 'full', name: 'q' }, { spec: { hard: { pods: '4' } } });
  await expect.poll(async () => (await podsOf('full')).length, { timeout: 20_000, interval: 20 }).toBe(4);
  await expect.poll(condition, { timeout: 20_000 }).toBeUndefined();
  expect(tookMs).toBeLessThan(2_500);
}, 60_000);
