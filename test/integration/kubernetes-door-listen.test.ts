import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { readServerVersion } from '../../cli/version/show-versions.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// Where the door for Kubernetes' clients is, what its certificate names, and what happens where its port is taken.
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

async function start(...[options]: Parameters<typeof startServer>): Promise<RunningServer> {
  const server = await startServer(options);
  stops.push(server.remove, server.stop);
  return server;
}

async function listenSomewhere(): Promise<string> {
  const other: Server = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  stops.push(() => new Promise((resolve) => other.close(resolve)));
  return `127.0.0.1:${(other.address() as { port: number }).port}`;
}

const addressesOf = async ({ client }: RunningServer) => (await readServerVersion(client.pages)).kubernetesAddresses;

it('is told with the version, with its real port; none where it is off', async () => {
  const open = await start({ kubernetesListen: '127.0.0.1:0' });
  expect(open.info.kubernetes).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
  expect(await addressesOf(open)).toEqual([open.info.kubernetes]);
  expect(await addressesOf(await start())).toEqual([]);
});

const ownAddress = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

it.skipIf(ownAddress === undefined)('is at the advertised address, too, which another machine is told', async () => {
  const server = await start({ kubernetesListen: '127.0.0.1:0', advertise: ownAddress });
  const port = server.info.kubernetes!.split(':')[1]!;
  expect(await addressesOf(server)).toEqual([`127.0.0.1:${port}`, `${ownAddress}:${port}`]);
  const socket = connect(Number(port), ownAddress);
  await once(socket, 'connect');
  socket.destroy();
});

it('goes on without it, with a warning, where another program has the default address', async () => {
  const taken = await listenSomewhere();
  const log = createFakeLogger();
  const server = await start({ kubernetesListen: taken, kubernetesMayLack: true, log: log as never });
  expect(server.info.kubernetes).toBeUndefined();
  expect(await addressesOf(server)).toEqual([]);
  expect(log.lines.filter((line) => JSON.stringify(line).includes(taken))).toHaveLength(1);
});

it('fails where another program has the address that was named, and keeps no port', async () => {
  const taken = await listenSomewhere();
  const listen = await listenSomewhere();
  // The port of gRPC is free from here on.
  await stops.pop()!();
  await expect(startServer({ listen, kubernetesListen: taken })).rejects.toThrow(`cannot listen on ${taken}: `);
  const again = await start({ listen, kubernetesListen: '127.0.0.1:0' });
  expect(again.info.address).toBe(listen);
});

it('has a certificate with the names and addresses of both Services, also in a data directory of before', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-door-names-'));
  const namesOf = async (): Promise<string> =>
    new X509Certificate(await readFile(join(dataDir, 'pki', 'server.crt'))).subjectAltName ?? '';
  const first = await startServer({ dataDir, clusterDomain: 'example.org' });
  await first.stop();
  expect(await namesOf()).toContain('DNS:kubernetes.default.svc.example.org');
  expect(await namesOf()).not.toContain('10.77.0.2');
  const options = { dataDir, serviceRanges: { serviceCidr: '10.77.0.0/24' }, advertise: 'berth.example.com' };
  await start({ ...options, kubernetesListen: '127.0.0.1:0' });
  const names = (await namesOf()).split(', ');
  const wanted = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'];
  expect(names).toEqual(
    expect.arrayContaining([
      ...[...wanted, 'berth.default.svc.cluster.local', 'localhost', 'berth.example.com'].map((name) => `DNS:${name}`),
      ...['10.77.0.1', '10.77.0.2', '127.0.0.1'].map((address) => `IP Address:${address}`),
    ]),
  );
});
