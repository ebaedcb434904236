import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { IPAddress, Service, ServiceSpec } from '../../api/generated/types.ts';
import type { ServerOptions } from '../../apiserver/main.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// The range of Services and the addresses given from it, as objects: kinds ServiceCIDR and IPAddress.
const options: Partial<ServerOptions> = {
  serviceRanges: { serviceCidr: '10.60.0.0/24' },
  kubernetesListen: '127.0.0.1:0',
  backend: 'lmdb',
};
const patience = { timeout: 20_000 };
let server: RunningServer;
let cli: CommandLine;
beforeAll(async () => {
  server = await startServer(options);
  cli = await openCommandLine(server.admin);
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

const serviceOf = (name: string, spec: ServiceSpec = {}): Service => ({
  metadata: { namespace: 'default', name },
  spec: { ports: [{ port: 80 }], ...spec },
});
const parentOf = (address = ''): Promise<string | undefined> =>
  server.client.iPAddresses.get({ name: address }).then(
    ({ spec: { parentRef: { resource = '', namespace = '', name = '' } = {} } = {} }) => `${resource}/${namespace}/${name}`,
    ({ code }: { code: string }) => code,
  );
/** Made by a client, for something that Berth knows nothing of. */
const keptFor = (address: string): IPAddress => ({
  metadata: { name: address, labels: { mine: 'yes' } },
  spec: { parentRef: { group: 'example.com', resource: 'gates', name: 'front' } },
});
const messageOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    (error: Error) => error.message,
  );

test("the server's range is the ServiceCIDR kubernetes, and is made anew when it is deleted", async () => {
  const at = { name: 'kubernetes' };
  const { metadata, spec, status } = await server.client.serviceCIDRs.get(at);
  expect(spec?.cidrs).toEqual(['10.60.0.0/24']);
  expect(status?.conditions).toMatchObject([{ type: 'Ready', status: 'True', lastTransitionTime: metadata?.creationTimestamp }]);
  await server.client.serviceCIDRs.patch(at, { metadata: { annotations: { noted: 'yes' } } });
  await expect(server.client.serviceCIDRs.patch(at, { spec: { cidrs: ['10.61.0.0/24'] } })).rejects.toThrow('cannot change');
  await server.client.serviceCIDRs.delete(at);
  const next = () => server.client.serviceCIDRs.get(at).catch(() => undefined);
  await expect.poll(async () => (await next())?.spec?.cidrs, patience).toEqual(['10.60.0.0/24']);
  expect((await next())?.metadata?.uid).not.toBe(metadata?.uid);
});

test('another ServiceCIDR is stored, with a warning and a condition that say that no Service gets addresses of it', async () => {
  const path = join(cli.folder, 'more.yaml');
  const more = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'more' },
    spec: { cidrs: ['10.61.0.0/24'] },
  };
  await writeFile(path, JSON.stringify(more));
  const said = await cli.berth('apply', '-f', path);
  expect(said.out).toBe('servicecidr.networking.k8s.io/more created\n');
  expect(said.err).toContain("spec is not acted on: Services get addresses of the server's --service-cidr alone");
  const { status } = await server.client.serviceCIDRs.get({ name: 'more' });
  expect(status?.conditions).toMatchObject([{ type: 'Ready', status: 'False', reason: 'NotInUse' }]);
  const outside = server.client.services.create(serviceOf('outside', { clusterIP: '10.61.0.7' }));
  expect(await messageOf(outside)).toContain('is outside of the addresses of services, 10.60.0.0/24');
  expect((await cli.berth('get', 'servicecidrs', '--no-headers')).out).toMatch(
    /^kubernetes +10\.60\.0\.0\/24 +\S+\nmore +10\.61\.0\.0\/24 +\S+\n$/,
  );
});

test('an IPAddress comes and goes with the cluster address of a Service', async () => {
  expect(await parentOf('10.60.0.1')).toBe('services/default/berth');
  await expect.poll(() => parentOf('10.60.0.2'), patience).toBe('services/default/kubernetes');
  const { spec: { clusterIP: first } = {} } = await server.client.services.create(serviceOf('web'));
  await expect.poll(() => parentOf(first), patience).toBe('services/default/web');
  const { metadata } = await server.client.iPAddresses.get({ name: first! });
  expect(metadata?.labels).toEqual({
    'ipaddress.kubernetes.io/ip-family': 'IPv4',
    'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
  });
  await server.client.iPAddresses.delete({ name: first! });
  await expect.poll(() => parentOf(first), patience).toBe('services/default/web');
  await server.client.services.patch(
    { namespace: 'default', name: 'web' },
    { spec: { type: 'ExternalName', externalName: 'example.com', clusterIP: null, clusterIPs: null } },
  );
  await expect.poll(() => parentOf(first), patience).toBe('NOT_FOUND');
  const back = { spec: { type: 'ClusterIP', externalName: null, clusterIP: '10.60.0.77' } };
  await server.client.services.patch({ namespace: 'default', name: 'web' }, back);
  await expect.poll(() => parentOf('10.60.0.77'), patience).toBe('services/default/web');
  await server.client.services.delete({ namespace: 'default', name: 'web' });
  await expect.poll(() => parentOf('10.60.0.77'), patience).toBe('NOT_FOUND');
});

test('an IPAddress that a client makes keeps its address from Services until it is deleted', async () => {
  await server.client.iPAddresses.create(keptFor('10.60.0.99'));
  const wanting = () => server.client.services.create(serviceOf('wanting', { clusterIP: '10.60.0.99' }));
  expect(await messageOf(wanting())).toContain('is taken by the IPAddress "10.60.0.99"');
  await server.client.iPAddresses.delete({ name: '10.60.0.99' });
  await expect.poll(() => messageOf(wanting()), patience).toBe('accepted');
  await expect.poll(() => parentOf('10.60.0.99'), patience).toBe('services/default/wanting');
  expect(await messageOf(server.client.iPAddresses.create(keptFor('10.60.0.99')))).toContain('already exists');
});

test("IPAddresses of any range are the clients' own, and are deleted as a collection", async () => {
  await server.client.iPAddresses.create(keptFor('255.255.255.255'));
  await server.client.iPAddresses.create(keptFor('fe80::42:1dff:fe84:f9e2'));
  const { out } = await cli.berth('get', 'ip', 'fe80::42:1dff:fe84:f9e2', '--no-headers');
  expect(out).toMatch(/^fe80::42:1dff:fe84:f9e2 +gates\.example\.com\/front +\S+\n$/);
  expect(await messageOf(server.client.iPAddresses.create(keptFor('FE80::1')))).toContain('must be written as "fe80::1"');
  await server.client.objects.deleteCollection('IPAddress', { labelSelector: 'mine=yes' });
  const { items } = await server.client.iPAddresses.list({ labelSelector: 'mine=yes' });
  expect(items).toEqual([]);
});

test('a start with another range makes the ServiceCIDR anew, and IPAddresses of Services stay', async () => {
  const { spec: { clusterIP: old = '' } = {} } = await server.client.services.create(serviceOf('old'));
  await expect.poll(() => parentOf(old), patience).toBe('services/default/old');
  await server.stop();
  server = await startServer({ ...options, serviceRanges: { serviceCidr: '10.62.0.0/24' }, dataDir: server.dataDir });
  expect((await server.client.serviceCIDRs.get({ name: 'kubernetes' })).spec?.cidrs).toEqual(['10.62.0.0/24']);
  expect(await parentOf(old)).toBe('services/default/old');
  await expect.poll(() => parentOf('10.62.0.1'), patience).toBe('services/default/berth');
  await expect.poll(() => parentOf('10.60.0.1'), patience).toBe('NOT_FOUND');
});
