import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service, ServiceSpec } from '../../api/generated/types.ts';
import { type BulkWrite, type Client, connect, type JsonObject } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { killProcess, startServerProcess } from './server-process.ts';

const serviceRanges = { serviceCidr: '10.60.0.0/24', nodePorts: '31000-31009', clusterCidr: '10.70.0.0/16' };
/** BERTH_CHAOS=long kills more often. */
const kills = process.env.BERTH_CHAOS === 'long' ? 10 : 1;
let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ serviceRanges });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const serviceOf = (name: string, spec: ServiceSpec = {}, namespace = 'default'): Service => ({
  metadata: { namespace, name },
  spec: { ports: [{ port: 80 }], ...spec },
});
const key = (name: string) => ({ namespace: 'default', name });
const nodePort = (port?: number): ServiceSpec => ({ type: 'NodePort', ports: [{ port: 80, ...(port && { nodePort: port }) }] });
const messageOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    (error: Error) => error.message,
  );

/** All but the control plane's own. */
async function listServices(client: Client): Promise<Service[]> {
  const { items } = await client.services.list({ limit: 500 });
  return items.filter(({ metadata }) => metadata?.name !== 'berth');
}

/** How many there are, once none is had twice. */
async function countAddresses(client: Client): Promise<number> {
  const items = await listServices(client);
  const all = items.flatMap(({ spec }) => spec?.clusterIP ?? []).filter((address) => address !== 'None');
  expect(new Set(all).size).toBe(all.length);
  const ports = items.flatMap(({ spec }) => spec?.ports?.flatMap((port) => port.nodePort ?? []) ?? []);
  expect(new Set(ports).size).toBe(ports.length);
  return all.length;
}

/** Which address is given to a Service that names none is up to chance: one that none of them has. */
async function freeAddress(client: Client): Promise<string> {
  const taken = new Set((await listServices(client)).map(({ spec }) => spec?.clusterIP));
  return Array.from({ length: 200 }, (_, i) => `10.60.0.${50 + i}`).find((address) => !taken.has(address))!;
}

async function removeAll(client: Client): Promise<void> {
  const items = await listServices(client);
  await Promise.all(
    items.map(({ metadata }) => client.services.delete({ namespace: metadata!.namespace!, name: metadata!.name! })),
  );
}

test('creates at once, unary and on streams of several clients, never get one address twice, and all of them are given', async () => {
  const clients = Array.from({ length: 4 }, () => connect(server.admin));
  const writers = clients.map((client) => client.bulkWriter({ answers: 'metadata' }));
  const results = await Promise.allSettled(
    Array.from({ length: 280 }, async (_, i) => {
      const service = serviceOf(`s${i}`);
      await (i % 2 === 0 ? clients[i % 4]!.services.create(service) : writers[i % 4]!.resource('Service').create(service));
    }),
  );
  await Promise.all(writers.map((writer) => writer.close()));
  for (const client of clients) client.close();
  const refusals = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as Error);
  // 256 without the first 16 and the last.
  expect(refusals).toHaveLength(280 - 239);
  for (const { message } of refusals)
    expect(message).toBe(
      'no cluster address is free: all of 10.60.0.0/24 are taken; delete services, or start the server with a larger --service-cidr',
    );
  expect(await countAddresses(server.client)).toBe(239);
  await removeAll(server.client);
  await server.client.services.create(serviceOf('after'));
}, 60_000);

test('an address or port that a service names is its own, and others are told who has it', async () => {
  const { services } = server.client;
  const clusterIP = await freeAddress(server.client);
  await services.create(serviceOf('named', { ...nodePort(31_005), clusterIP }));
  const holder = `is taken by the service "default/named"`;
  const taken = `spec.clusterIPs[0]: invalid value "${clusterIP}": provided IP is already allocated: it ${holder}`;
  expect(await messageOf(services.create(serviceOf('other', { clusterIP })))).toContain(taken);
  expect(await messageOf(services.create(serviceOf('other', nodePort(31_005))))).toContain(
    'is taken by the service "default/named"',
  );
  expect(await messageOf(services.create(serviceOf('other', { clusterIP }), { dryRun: ['All'] }))).toContain('is taken by');
  expect(await messageOf(services.create(serviceOf('other', { clusterIP: '10.61.0.1' })))).toContain(
    'is outside of the addresses of services, 10.60.0.0/24',
  );
  expect(await messageOf(services.create(serviceOf('other', nodePort(30_000))))).toContain(
    'provided port is not in the valid range. The range of valid ports is 31000-31009',
  );
  await services.delete(key('named'));
  await services.create(serviceOf('other', { ...nodePort(31_005), clusterIP }));
});

test('a dry run shows numbers and holds none', async () => {
  const { services } = server.client;
  for (let i = 0; i < 20; i++) {
    const shown = await services.create(serviceOf('dry', nodePort()), { dryRun: ['All'] });
    expect(shown.spec?.clusterIP).toMatch(/^10\.60\.0\./);
    expect(shown.spec?.ports?.[0]?.nodePort).toBeGreaterThanOrEqual(31_000);
  }
  for (let i = 0; i < 9; i++) await services.create(serviceOf(`np${i}`, nodePort()));
  expect(await messageOf(services.create(serviceOf('np9', nodePort())))).toContain('no node port is free: all of 31000-31009');
});

test('a failed create gives back what it got', async () => {
  const { services } = server.client;
  const before = await countAddresses(server.client);
  for (let i = 0; i < 300; i++) expect(await messageOf(services.create(serviceOf('after')))).toContain('already exists');
  await services.create(serviceOf('more'));
  expect(await countAddresses(server.client)).toBe(before + 1);
});

test('a change of the type gives up what the type has no use for, and another back its own', async () => {
  const { services } = server.client;
  const before = await services.get(key('np0'));
  const plain = await services.patch({ ...key('np0'), type: 'merge' }, { spec: { type: 'ClusterIP' } });
  expect(plain.spec?.clusterIP).toBe(before.spec?.clusterIP);
  expect(plain.spec?.ports?.[0]).not.toHaveProperty('nodePort');
  const port = before.spec!.ports![0]!.nodePort!;
  await services.create(serviceOf('heir', nodePort(port)));
  const name = { spec: { type: 'ExternalName', externalName: 'example.com', clusterIP: null, clusterIPs: null } } as JsonObject;
  const named = await services.patch({ ...key('np0'), type: 'merge' }, name);
  expect(named.spec).not.toHaveProperty('clusterIP');
  const again = await services.patch({ ...key('np0'), type: 'merge' }, {
    spec: { type: 'ClusterIP', externalName: null },
  } as JsonObject);
  expect(again.spec?.clusterIP).toMatch(/^10\.60\.0\./);
  await countAddresses(server.client);
});

test('a replacement by the manifest alone keeps what was given', async () => {
  const { services } = server.client;
  // All node ports are taken.
  await services.delete(key('np3'));
  const made = await services.create(serviceOf('kept', { type: 'LoadBalancer' }));
  const { metadata, spec } = await services.update(serviceOf('kept', { type: 'LoadBalancer', sessionAffinity: 'ClientIP' }));
  expect(metadata?.uid).toBe(made.metadata?.uid);
  const { clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy, ports } = made.spec!;
  expect(spec).toMatchObject({ clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy, ports, sessionAffinity: 'ClientIP' });
  await services.delete(key('kept'));
});

test('node ports and load balancers count against quotas', async () => {
  const { client } = server;
  await client.namespaces.create({ metadata: { name: 'team' } });
  const hard = { services: '3', 'services.nodeports': '1', 'services.loadbalancers': '0' };
  await client.objects.create('ResourceQuota', { metadata: { namespace: 'team', name: 'q' }, spec: { hard } });
  await client.services.delete(key('np1'));
  await client.services.delete(key('np2'));
  await client.services.create(serviceOf('a', nodePort(), 'team'));
  expect(await messageOf(client.services.create(serviceOf('b', nodePort(), 'team')))).toContain(
    'requested: services.nodeports=1',
  );
  expect(await messageOf(client.services.create(serviceOf('b', { type: 'LoadBalancer' }, 'team')))).toContain(
    'services.loadbalancers=1',
  );
  // What the refused ones had been allotted is free.
  await client.services.create(serviceOf('c', nodePort()));
});

test('external addresses within the ranges of services and of pods are refused, but for those that are stored', async () => {
  const { services } = server.client;
  const external = (...externalIPs: string[]) => serviceOf('outer', { externalIPs });
  const remedy = 'give an address from outside of the cluster that leads to its nodes';
  const refusals = [
    `spec.externalIPs[1]: invalid value "10.60.0.1": is in the range of the addresses of services (10.60.0.0/24): ${remedy}`,
    `spec.externalIPs[2]: invalid value "10.70.255.1": is in the range of the addresses of pods (10.70.0.0/16): ${remedy}`,
  ];
  const refused = services.create(external('192.0.2.1', '10.60.0.1', '10.70.255.1', '10.61.0.1'));
  await expect(refused).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  const words = await messageOf(refused);
  for (const refusal of refusals) expect(words).toContain(refusal);
  await services.create(external('192.0.2.1'));
  const patch = (externalIPs: string[]) => services.patch({ ...key('outer'), type: 'merge' }, { spec: { externalIPs } });
  expect(await messageOf(patch(['192.0.2.1', '10.60.0.1']))).toContain(refusals[0]);
  expect((await patch(['192.0.2.2', '10.61.0.1'])).spec?.externalIPs).toEqual(['192.0.2.2', '10.61.0.1']);
  await services.delete(key('outer'));
});

test('writes of one stream that need each other’s addresses see them given and taken', async () => {
  const clusterIP = await freeAddress(server.client);
  const writes: BulkWrite[] = [
    { verb: 'create', kind: 'Service', object: serviceOf('x', { clusterIP }) as JsonObject },
    { verb: 'create', kind: 'Service', object: serviceOf('y', { clusterIP }) as JsonObject },
  ];
  const errors: string[] = [];
  for await (const { error } of server.client.objects.bulk(writes)) if (error) errors.push(error.message);
  expect(errors, errors.join('\n')).toHaveLength(1);
  // Items of different objects have no order among each other.
  const made = (await listServices(server.client)).find(({ spec }) => spec?.clusterIP === clusterIP)?.metadata?.name;
  expect(['x', 'y']).toContain(made);
  expect(errors[0]).toContain(`is taken by the service "default/${made}"`);
});

test('a restarted server knows who has what, and a server with other ranges leaves it alone', async () => {
  const first = await startServer({ backend: 'lmdb', serviceRanges });
  const { dataDir } = first;
  const outer = { externalIPs: ['10.43.0.1', '10.42.0.1'] };
  await first.client.services.create(serviceOf('a', { ...nodePort(31_001), clusterIP: '10.60.0.50', ...outer }));
  await first.stop();
  const second = await startServer({ backend: 'lmdb', serviceRanges, dataDir });
  expect(await messageOf(second.client.services.create(serviceOf('b', { clusterIP: '10.60.0.50' })))).toContain('"default/a"');
  await second.stop();
  const third = await startServer({ backend: 'lmdb', dataDir });
  const labelled = await third.client.services.patch({ ...key('a'), type: 'merge' }, { metadata: { labels: { a: 'b' } } });
  expect(labelled.spec?.clusterIP).toBe('10.60.0.50');
  expect((await third.client.services.create(serviceOf('b'))).spec?.clusterIP).toMatch(/^10\.43\./);
  // External addresses that are the cluster's own by now stay, and others do not come.
  const patch = (externalIPs: string[]) =>
    third.client.services.patch({ ...key('a'), type: 'merge' }, { spec: { sessionAffinity: 'ClientIP', externalIPs } });
  expect((await patch(['192.0.2.1', '10.43.0.1'])).spec?.externalIPs).toEqual(['192.0.2.1', '10.43.0.1']);
  expect(await messageOf(patch(['10.43.0.1', '10.42.0.1']))).toContain('spec.externalIPs[1]: invalid value "10.42.0.1"');
  await third.stop();
  await first.remove();
});

test('a server that is killed while services are made never gives an address or a port twice, and loses none', async () => {
  const seed = await startServer({ backend: 'lmdb' });
  await seed.stop();
  let running = await startServerProcess(seed.dataDir, seed.info.address);
  const answered = new Map<string, string>();
  try {
    for (let round = 0; round <= kills; round++) {
      const clients = Array.from({ length: 3 }, () => connect(seed.admin));
      for (const client of clients) await client.namespaces.get({ name: 'default' });
      // What a server that is gone has not answered, it does not answer any more.
      const gone = new AbortController();
      let made = 0;
      let killed: Promise<void> | undefined;
      const attempts = Array.from({ length: 120 }, async (_, i) => {
        const name = `r${round}-${i}`;
        const { spec } = await clients[i % 3]!.services.create(serviceOf(name, nodePort()), {}, { signal: gone.signal });
        answered.set(name, spec?.clusterIP ?? '');
        if (++made >= 10 && round < kills) killed ??= killProcess(running).then(() => gone.abort());
      });
      await Promise.allSettled(attempts);
      await killed;
      if (killed) running = await startServerProcess(seed.dataDir, seed.info.address);
      for (const client of clients) client.close();
      const reader = connect(seed.admin);
      expect(await countAddresses(reader)).toBeGreaterThanOrEqual(answered.size);
      const found = new Map((await listServices(reader)).map(({ metadata, spec }) => [metadata?.name, spec?.clusterIP]));
      expect([...answered].filter(([name, address]) => found.get(name) !== address)).toEqual([]);
      reader.close();
    }
    expect(answered.size).toBeGreaterThanOrEqual(120);
  } finally {
    await killProcess(running);
    await seed.remove();
  }
}, 120_000);
