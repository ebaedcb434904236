import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServerOptions } from '../../apiserver/main.ts';
import { connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

const key = { namespace: 'default', name: 'berth' };
const options: Partial<ServerOptions> = { serviceRanges: { serviceCidr: '10.60.0.0/24' }, clusterDomain: 'example.org' };
let server: RunningServer;
beforeAll(async () => {
  server = await startServer(options);
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

/** Why a client that trusts the cluster's authority does not take the server for that name; undefined: it does. */
function refusalOf(name: string): Promise<string | undefined> {
  const { port, ca } = server.info;
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connectTls({ port, host: '127.0.0.1', ca, servername: name, ALPNProtocols: ['h2'] }, () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? resolve(error.message) : reject(error),
    );
  });
}

const hostsOf = (running: RunningServer): Promise<string> =>
  new Promise((resolve, reject) => {
    const { port, ca } = running.info;
    const socket: TLSSocket = connectTls({ port, host: '127.0.0.1', ca, servername: 'localhost', ALPNProtocols: ['h2'] }, () => {
      resolve(socket.getPeerCertificate().subjectaltname ?? '');
      socket.destroy();
    });
    socket.on('error', reject);
  });

test('the Service of the control plane is there when the server serves, with the first address and the real port', async () => {
  const { metadata, spec } = await server.client.services.get(key);
  expect(metadata?.labels).toEqual({ component: 'apiserver', provider: 'berth' });
  expect(spec).toMatchObject({ type: 'ClusterIP', clusterIP: '10.60.0.1', clusterIPs: ['10.60.0.1'] });
  expect(spec?.ports).toMatchObject([{ name: 'https', protocol: 'TCP', port: 443, targetPort: { intVal: server.info.port } }]);
  expect(spec?.selector ?? {}).toEqual({});
});

test('no other Service gets its address, and a deleted or changed one is restored', async () => {
  const other = { metadata: { namespace: 'default', name: 'other' }, spec: { clusterIP: '10.60.0.1', ports: [{ port: 80 }] } };
  await expect(server.client.services.create(other)).rejects.toThrow('is kept for the control plane');
  const { metadata: first, spec } = await server.client.services.get(key);
  await server.client.services.delete(key);
  const restored = () => server.client.services.get(key).catch(() => undefined);
  await expect.poll(async () => (await restored())?.spec, { timeout: 5_000 }).toEqual(spec);
  expect((await restored())?.metadata?.uid).not.toBe(first?.uid);
  await server.client.services.patch(key, { spec: { selector: { app: 'mine' }, externalIPs: ['192.0.2.1'] } });
  await expect.poll(async () => (await restored())?.spec, { timeout: 5_000 }).toEqual(spec);
  await server.client.services.patch(key, { spec: { type: 'ExternalName', externalName: 'example.com', ports: null } });
  await expect.poll(async () => (await restored())?.spec, { timeout: 5_000 }).toEqual(spec);
});

test('the certificate has the names and the address of the Service', async () => {
  for (const name of ['berth', 'berth.default', 'berth.default.svc', 'berth.default.svc.example.org'])
    expect(await refusalOf(name)).toBeUndefined();
  expect(await refusalOf('berth.default.svc.cluster.local')).toContain("does not match certificate's altnames");
  expect(await hostsOf(server)).toContain('IP Address:10.60.0.1');
});

test('a server of another domain and range has another certificate and Service, with the same data', async () => {
  const first = await startServer({ ...options, backend: 'lmdb' });
  await first.stop();
  const { dataDir } = first;
  const second = await startServer({
    dataDir,
    backend: 'lmdb',
    clusterDomain: 'b.test',
    serviceRanges: { serviceCidr: '10.61.0.0/24' },
  });
  try {
    const hosts = await hostsOf(second);
    expect(hosts).toContain('DNS:berth.default.svc.b.test');
    expect(hosts).toContain('IP Address:10.61.0.1');
    const client = connect(second.admin);
    expect((await client.services.get(key)).spec?.clusterIP).toBe('10.61.0.1');
    client.close();
  } finally {
    await second.stop();
    await second.remove();
  }
});

const kubernetes = { namespace: 'default', name: 'kubernetes' };

test('a server without the door for Kubernetes’ clients has no Service that leads to it', async () => {
  await expect(server.client.services.get(kubernetes)).rejects.toThrow('not found');
});

test('the Service of the door for Kubernetes’ clients comes and goes with it, and has the second address', async () => {
  const base = { ...options, backend: 'lmdb' } as const;
  const first = await startServer({ ...base, kubernetesListen: '127.0.0.1:0' });
  const { dataDir } = first;
  const { spec } = await first.client.services.get(kubernetes);
  expect(spec).toMatchObject({ type: 'ClusterIP', clusterIP: '10.60.0.2', clusterIPs: ['10.60.0.2'] });
  const port = Number(first.info.kubernetes?.split(':').at(-1));
  expect(spec?.ports).toMatchObject([{ name: 'https', protocol: 'TCP', port: 443, targetPort: { intVal: port } }]);
  const names = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.example.org'];
  const hosts = await hostsOf(first);
  for (const name of names) expect(hosts).toContain(`DNS:${name}`);
  expect(hosts).toContain('IP Address:10.60.0.2');
  const other = { metadata: { namespace: 'default', name: 'other' }, spec: { clusterIP: '10.60.0.2', ports: [{ port: 80 }] } };
  await expect(first.client.services.create(other)).rejects.toThrow('is kept for the control plane');
  await first.stop();
  const second = await startServer({ ...base, dataDir });
  try {
    await expect(second.client.services.get(kubernetes)).rejects.toThrow('not found');
    expect((await second.client.services.get(key)).spec?.clusterIP).toBe('10.60.0.1');
  } finally {
    await second.stop();
    await second.remove();
  }
});

test('where another Service has the second address, that of the door has another one, which the certificate names', async () => {
  const base = { clusterDomain: 'example.org', backend: 'lmdb' } as const;
  const ranges = (serviceCidr: string) => ({ serviceRanges: { serviceCidr } });
  const first = await startServer({ ...base, ...ranges('10.60.0.0/24') });
  const { dataDir } = first;
  const older = { metadata: { namespace: 'default', name: 'older' }, spec: { clusterIP: '10.60.0.66', ports: [{ port: 80 }] } };
  await first.client.services.create(older);
  await first.stop();
  let at: string | undefined;
  for (const _ of ['made', 'kept']) {
    const next = await startServer({ ...base, ...ranges('10.60.0.64/26'), dataDir, kubernetesListen: '127.0.0.1:0' });
    try {
      const { clusterIP } = (await next.client.services.get(kubernetes)).spec ?? {};
      expect(clusterIP).toMatch(/^10\.60\.0\./);
      expect(clusterIP).not.toBe('10.60.0.66');
      at ??= clusterIP;
      expect(clusterIP).toBe(at);
      expect(await hostsOf(next)).toContain(`IP Address:${at}`);
    } finally {
      await next.stop();
    }
  }
  await first.remove();
});
