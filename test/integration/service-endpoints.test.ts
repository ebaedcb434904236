import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EndpointSlice, Pod, ServiceSpec } from '../../api/generated/types.ts';
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

const soon = { timeout: 10_000 };
const at = (name: string) => ({ namespace: 'default', name });

async function podOf(app: string, name: string, ip: string, ready = true): Promise<Pod> {
  const ports = [{ name: 'web', containerPort: 8080 }];
  const pod = await server.client.pods.create({
    metadata: { ...at(name), labels: { app } },
    spec: { containers: [{ name: 'c', image: 'i', ports }] },
  });
  return setStatus(pod, ip, ready);
}

function setStatus(pod: Pod, podIP: string, ready: boolean): Promise<Pod> {
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
  return server.client.pods.updateStatus({
    ...pod,
    status: { ...pod.status, phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions },
  });
}

const serviceOf = (app: string, spec: ServiceSpec = {}) =>
  server.client.services.create({
    metadata: at(app),
    spec: { selector: { app }, ports: [{ port: 80, targetPort: { type: 1, strVal: 'web' } }], ...spec },
  });

async function slicesOf(app: string): Promise<EndpointSlice[]> {
  const labelSelector = `kubernetes.io/service-name=${app}`;
  return (await server.client.endpointSlices.list({ namespace: 'default', labelSelector })).items;
}

/** "10.42.0.1 ready", by name of the pod. */
async function endpointsOf(app: string): Promise<string[]> {
  const endpoints = (await slicesOf(app)).flatMap((slice) => slice.endpoints ?? []);
  return endpoints.map(({ addresses, conditions }) => `${addresses?.join()} ${conditions?.ready ? 'ready' : 'not'}`).toSorted();
}

async function mirrorOf(app: string): Promise<string[]> {
  const { subsets = [] } = await server.client.endpoints.get(at(app));
  return subsets.flatMap(({ addresses = [], ports = [] }) => addresses.map(({ ip }) => `${ip}:${ports[0]?.port}`));
}

test('pods come into the slices and endpoints of their service, change there, and go', async () => {
  await serviceOf('web');
  await expect.poll(() => slicesOf('web'), soon).toMatchObject([{ addressType: 'IPv4' }]);
  const first = await podOf('web', 'w1', '10.42.0.1');
  await podOf('web', 'w2', '10.42.0.2', false);
  await expect.poll(() => endpointsOf('web'), soon).toEqual(['10.42.0.1 ready', '10.42.0.2 not']);
  await expect.poll(() => mirrorOf('web'), soon).toEqual(['10.42.0.1:8080']);
  await setStatus(await server.client.pods.get(at('w2')), '10.42.0.2', true);
  await expect.poll(() => endpointsOf('web'), soon).toEqual(['10.42.0.1 ready', '10.42.0.2 ready']);
  await server.client.pods.patch({ ...at('w1'), type: 'merge' }, { metadata: { labels: { app: 'other' } } });
  await expect.poll(() => endpointsOf('web'), soon).toEqual(['10.42.0.2 ready']);
  await server.client.pods.patch({ ...at('w1'), type: 'merge' }, { metadata: { labels: { app: 'web' } } });
  await expect.poll(() => mirrorOf('web'), soon).toEqual(['10.42.0.1:8080', '10.42.0.2:8080']);
  await server.client.pods.delete(at(first.metadata?.name ?? ''), { gracePeriodSeconds: 0 });
  await expect.poll(() => endpointsOf('web'), soon).toEqual(['10.42.0.2 ready']);
});

test('slices and endpoints that others change or delete are put right, and go with their service', async () => {
  await podOf('db', 'd1', '10.42.0.9');
  await serviceOf('db');
  await expect.poll(() => endpointsOf('db'), soon).toEqual(['10.42.0.9 ready']);
  const [slice] = await slicesOf('db');
  await server.client.endpointSlices.patch({ ...at(slice?.metadata?.name ?? ''), type: 'merge' }, { endpoints: [] });
  await expect.poll(() => endpointsOf('db'), soon).toEqual(['10.42.0.9 ready']);
  await server.client.endpointSlices.delete(at(slice?.metadata?.name ?? ''));
  await server.client.endpoints.delete(at('db'));
  await expect.poll(() => endpointsOf('db'), soon).toEqual(['10.42.0.9 ready']);
  await expect.poll(() => mirrorOf('db').catch(() => []), soon).toEqual(['10.42.0.9:8080']);
  await server.client.services.delete(at('db'));
  await expect.poll(() => slicesOf('db'), soon).toEqual([]);
  await expect.poll(() => mirrorOf('db').catch(({ code }: { code: string }) => code), soon).toBe('NOT_FOUND');
});

test('Endpoints that a user wrote stay when a service without a selector comes, and slices are made of them', async () => {
  await server.client.endpoints.create({
    metadata: at('outside'),
    subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }],
  });
  await serviceOf('outside', { selector: {} });
  await expect.poll(() => endpointsOf('outside'), soon).toEqual(['192.0.2.1 ready']);
  expect(await mirrorOf('outside')).toEqual(['192.0.2.1:80']);
});

test('each node gets a range of pod addresses of its own, which it keeps', async () => {
  const { nodes } = server.client;
  await Promise.all(Array.from({ length: 20 }, (_, i) => nodes.create({ metadata: { name: `n${i}` }, spec: {} })));
  const ranges = async (): Promise<string[]> => (await nodes.list({})).items.flatMap(({ spec }) => spec?.podCIDRs ?? []);
  await expect.poll(async () => new Set(await ranges()).size, soon).toBe(20);
  for (const range of await ranges()) expect(range).toMatch(/^10\.42\.\d+\.0\/24$/);
  const { spec } = await nodes.get({ name: 'n3' });
  expect(spec?.podCIDR).toBe(spec?.podCIDRs?.[0]);
  await nodes.delete({ name: 'n3' });
  await nodes.create({ metadata: { name: 'n99' }, spec: {} });
  await expect.poll(async () => (await nodes.get({ name: 'n99' })).spec?.podCIDR, soon).toBe('10.42.20.0/24');
});

test('Endpoints of a service without a selector are mirrored into slices, and these go with them', async () => {
  await server.client.services.create({ metadata: at('far'), spec: { ports: [{ port: 80 }] } });
  const ports = [{ port: 8080 }];
  await server.client.endpoints.create({ metadata: at('far'), subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports }] });
  await expect.poll(() => endpointsOf('far'), soon).toEqual(['192.0.2.1 ready']);
  await server.client.endpoints.patch(
    { ...at('far'), type: 'merge' },
    { subsets: [{ notReadyAddresses: [{ ip: '192.0.2.2' }], ports }] },
  );
  await expect.poll(() => endpointsOf('far'), soon).toEqual(['192.0.2.2 not']);
  await server.client.endpoints.delete(at('far'));
  await expect.poll(() => slicesOf('far'), soon).toEqual([]);
});
