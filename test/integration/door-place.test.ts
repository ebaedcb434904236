import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServerOptions } from '../../apiserver/main.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// What says where Kubernetes' HTTP API is: the endpoints of the Service kubernetes, and ConfigMap cluster-info.
const options: Partial<ServerOptions> = { kubernetesListen: '127.0.0.1:0', advertise: '203.0.113.5', backend: 'lmdb' };
const patience = { timeout: 20_000 };
const key = { namespace: 'default', name: 'kubernetes' };
const info = { namespace: 'kube-public', name: 'cluster-info' };
const role = { namespace: 'kube-public', name: 'kubeadm:bootstrap-signer-clusterinfo' };
let server: RunningServer;
beforeAll(async () => {
  server = await startServer(options);
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const portOf = (): number => Number(server.info.kubernetes?.split(':').at(-1));
const addressesNow = async () => {
  const found = await server.client.endpoints.get(key).catch(() => undefined);
  return found?.subsets?.map(({ addresses = [], notReadyAddresses = [] }) => [
    addresses.map(({ ip }) => ip),
    notReadyAddresses.map(({ ip }) => ip),
  ]);
};
const sliceNow = async () => (await server.client.endpointSlices.get(key).catch(() => undefined))?.endpoints;
const textNow = async () => (await server.client.configMaps.get(info).catch(() => undefined))?.data?.kubeconfig;

test('endpoints of the Service kubernetes name the advertised address and the port of the door', async () => {
  const { metadata, subsets } = await server.client.endpoints.get(key);
  expect(metadata?.labels).toMatchObject({ 'endpointslice.kubernetes.io/skip-mirror': 'true' });
  expect(subsets).toEqual([
    {
      addresses: [expect.objectContaining({ ip: '203.0.113.5' })],
      ports: [expect.objectContaining({ name: 'https', port: portOf(), protocol: 'TCP' })],
    },
  ]);
  const slice = await server.client.endpointSlices.get(key);
  expect(slice.metadata?.labels).toMatchObject({ 'kubernetes.io/service-name': 'kubernetes' });
  expect(slice).toMatchObject({
    addressType: 'IPv4',
    endpoints: [{ addresses: ['203.0.113.5'], conditions: { ready: true } }],
    ports: [{ name: 'https', port: portOf(), protocol: 'TCP' }],
  });
});

test('what the server keeps is restored when it is deleted or changed', async () => {
  const [addresses, slice, text] = [await addressesNow(), await sliceNow(), await textNow()];
  await server.client.endpoints.delete(key);
  await expect.poll(addressesNow, patience).toEqual(addresses);
  await server.client.endpointSlices.patch(key, { endpoints: [{ addresses: ['192.0.2.1'] }] });
  await expect.poll(sliceNow, patience).toEqual(slice);
  await server.client.configMaps.patch(info, { data: { kubeconfig: 'mine', more: 'kept' } });
  await expect.poll(textNow, patience).toBe(text);
  expect((await server.client.configMaps.get(info)).data?.more).toBe('kept');
});

test('a start at the same address finds all as it should be, and writes none of it', async () => {
  const versions = () =>
    Promise.all([
      server.client.endpoints.get(key),
      server.client.endpointSlices.get(key),
      server.client.configMaps.get(info),
      server.client.roles.get(role),
      server.client.roleBindings.get(role),
    ]).then((all) => all.map(({ metadata }) => metadata?.resourceVersion));
  const before = await versions();
  const { dataDir } = server;
  const kubernetesListen = server.info.kubernetes;
  await server.stop();
  server = await startServer({ ...options, kubernetesListen, dataDir });
  expect(await versions()).toEqual(before);
});

test('every authenticated user reads where the server is and which authorities it has, and no other', async () => {
  const text = await textNow();
  expect(text).toContain(`\n    server: https://203.0.113.5:${portOf()}\n`);
  const [, trusted = ''] = /certificate-authority-data: (\S+)/.exec(text ?? '') ?? [];
  expect(Buffer.from(trusted, 'base64').toString()).toBe(server.info.ca);
  const may = async (user: string, groups: string[]) =>
    (
      await server.client.reviews.can({
        ...{ user, groups },
        resourceAttributes: { verb: 'get', resource: 'configmaps', ...info },
      })
    ).allowed ?? false;
  expect(await may('anna', ['system:authenticated'])).toBe(true);
  expect(await may('system:anonymous', ['system:unauthenticated'])).toBe(false);
});

test('the namespace kube-public cannot be deleted', async () => {
  await expect(server.client.namespaces.delete({ name: 'kube-public' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
});

test('a server without the door takes both away, and one that listens for its machine alone names no address as ready', async () => {
  const { dataDir } = server;
  await server.stop();
  server = await startServer({ ...options, kubernetesListen: undefined, dataDir });
  expect([await addressesNow(), await sliceNow(), await textNow()]).toEqual([undefined, undefined, undefined]);
  await server.stop();
  server = await startServer({ ...options, advertise: undefined, dataDir });
  const [[ready, waiting] = []] = (await addressesNow()) ?? [];
  expect(ready ?? []).toEqual([]);
  for (const address of waiting ?? []) expect(address).not.toMatch(/^127\./);
  expect(await textNow()).toContain(`server: https://127.0.0.1:${portOf()}\n`);
});
