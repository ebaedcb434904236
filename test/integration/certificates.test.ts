import { X509Certificate } from 'node:crypto';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { holdCertificate } from '../../agent/identity/held-certificate.ts';
import { keepCertificate } from '../../agent/identity/keep-certificate.ts';
import { requestCertificate } from '../../agent/identity/request-certificate.ts';
import { authorityHash, splitCertificates } from '../../api/meta/authority.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Client, ConnectOptions } from '../../client/index.ts';
import { meetServer } from '../../host/join/meet-server.ts';
import { createFakeClock } from '../fakes/fake-clock.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { type RunningServer, readPair } from './apiserver-harness.ts';
import { type JoinableServer, joinTokenText, startJoinableServer } from './joining-harness.ts';

// Certificates of a server that runs: renewed one by one, and with a new authority,
// which takes over from the old one while all clients go on.
let joinable: JoinableServer;
let server: RunningServer;
beforeAll(async () => {
  joinable = await startJoinableServer();
  server = joinable.server;
}, 60_000);
afterAll(() => joinable.stop());

const reach = (credentials: Partial<ConnectOptions>): Client => joinable.reach(credentials);
const hashOf = (pem: string): string => authorityHash(new X509Certificate(pem));
const failure = (call: Promise<unknown>): Promise<{ code?: string; message: string }> =>
  call.then(
    () => expect.unreachable('the call should have been refused'),
    (error) => error,
  );

/** The serial number of the certificate that a new connection is shown. */
async function shownSerial(): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port: server.info.port, servername: 'localhost', rejectUnauthorized: false });
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

/** A joined node: its client uses the certificate that it holds, whose authorities and renewal `look` follows once. */
async function joinNode(name: string) {
  const joining = reach({ token: joinTokenText });
  const clock = createFakeClock(Date.now());
  const signal = AbortSignal.timeout(30_000);
  const system = {
    now: Date.now,
    after: (ms: number, call: () => void) =>
      (
        (timer) => () =>
          clearTimeout(timer)
      )(setTimeout(call, ms)),
  };
  const wish = { client: joining.resource('CertificateSigningRequest'), nodeName: name, clock: system, signal };
  const held = holdCertificate({ first: { ...(await requestCertificate(wish)), ca: server.info.ca }, save: async () => {} });
  const client = reach({ certificate: held.current });
  await client.nodes.create({ metadata: { name } });
  const look = async (isDone: () => boolean): Promise<void> => {
    const stop = new AbortController();
    const logger = createFakeLogger();
    const running = keepCertificate({ client, held, nodeName: name, logger, metrics: new MetricsRegistry(), clock }, stop.signal);
    await vi.waitFor(
      async () => {
        // In small steps: the certificate is waited for by this clock, and signed in real time.
        await clock.advance(2_000);
        expect(isDone()).toBe(true);
      },
      { timeout: 40_000, interval: 20 },
    );
    stop.abort();
    await running;
  };
  return { client, held, look };
}

describe('the certificates of a running server', () => {
  it('are renewed by name: new connections use the new one, open ones continue', async () => {
    const before = await shownSerial();
    const watching = new AbortController();
    const events = server.client.configMaps.watch({ namespace: 'default' }, { signal: watching.signal })[Symbol.asyncIterator]();
    const next = events.next();
    expect(await server.client.certificates.renew({ names: ['server'] })).toEqual(['server']);
    expect(await shownSerial()).not.toBe(before);
    await server.client.configMaps.create({ metadata: { name: 'seen', namespace: 'default' } });
    expect((await next).done).toBe(false);
    watching.abort();
    await events.return?.();
    const { certificates = [], clients = [] } = await server.client.certificates.list();
    expect(certificates.map(({ name }) => name)).toEqual(['ca', 'server', 'admin', 'scheduler', 'controllers']);
    expect(new Set(certificates.map((each) => each.authorityHash))).toEqual(new Set([hashOf(server.info.ca)]));
    expect(clients.find(({ user }) => user === 'admin')).toMatchObject({ authorityHash: hashOf(server.info.ca) });
  });

  it('are readable for administrators only, the authorities for every user', async () => {
    const node = await joinNode('curious');
    expect(await node.client.certificates.authorities()).toBe(server.info.ca);
    for (const call of [
      node.client.certificates.list(),
      node.client.certificates.renew({ authority: true }),
      node.client.certificates.dropAuthority(true),
    ])
      expect(await failure(call)).toMatchObject({ code: 'PERMISSION_DENIED' });
    expect((await failure(server.client.certificates.renew({ names: ['ca'] }))).message).toContain('no certificate "ca"');
    expect((await failure(server.client.certificates.dropAuthority(false))).message).toContain('one authority only');
    await server.client.nodes.delete({ name: 'curious' });
  });
});

describe('a new authority', () => {
  it('is rotated in without interruption, and the old one is dropped when no client needs it', async () => {
    const oldCa = server.info.ca;
    const user = { ...(await readPair(server.dataDir, 'admin')), ca: oldCa };
    const [here, away] = [await joinNode('here'), await joinNode('away')];
    await Promise.all([here.client.nodes.get({ name: 'here' }), away.client.nodes.get({ name: 'away' })]);
    const watching = new AbortController();
    const events = here.client.pods
      .watch({ fieldSelector: 'spec.nodeName=here' }, { signal: watching.signal })
      [Symbol.asyncIterator]();
    const next = events.next();

    expect(await server.client.certificates.renew({ authority: true })).toContain('ca');
    const bundle = await server.client.certificates.authorities();
    const [newCa = '', ...rest] = splitCertificates(bundle);
    expect(rest).toEqual([oldCa]);
    expect((await failure(server.client.certificates.renew({ authority: true }))).message).toContain('taking over already');

    // An old context, and the agent that was away, trust the old one only and have its certificates:
    // new connections work.
    expect((await reach(user).nodes.list()).items).toHaveLength(2);
    const { certificate: cert, key } = away.held.current();
    expect((await reach({ ca: oldCa, cert, key }).nodes.get({ name: 'away' })).metadata?.name).toBe('away');
    // Lines that were pasted before, and those of now.
    const { host, port } = { host: '127.0.0.1', port: server.info.port };
    for (const ca of [oldCa, newCa]) {
      const { authority } = await meetServer({ host, port }, [hashOf(ca)], Date.now);
      expect(authority.toString().trim()).toBe(ca.trim());
      const joining = reach({ ca: authority.toString(), token: joinTokenText });
      expect(await failure(joining.nodes.list())).toMatchObject({ code: 'PERMISSION_DENIED' });
    }

    // The agent that is here takes the new one over and has a certificate of it; its watch goes on.
    await here.look(() => new X509Certificate(here.held.current().certificate).verify(new X509Certificate(newCa).publicKey));
    expect(here.held.current().ca).toBe(bundle);
    await here.client.nodes.get({ name: 'here' });
    await server.client.pods.create({
      metadata: { name: 'p', namespace: 'default' },
      spec: { nodeName: 'here', containers: [{ name: 'c', image: 'x' }] },
    });
    expect((await next).done).toBe(false);
    watching.abort();
    await events.return?.();

    // Those who need the old one are named.
    const refusal = await failure(server.client.certificates.dropAuthority(false));
    expect(refusal.message).toMatch(/old authority is needed still/);
    expect(refusal.message).toContain('system:node:away');
    expect(refusal.message).not.toContain('system:node:here');

    await away.look(() => new X509Certificate(away.held.current().certificate).verify(new X509Certificate(newCa).publicKey));
    await away.client.nodes.get({ name: 'away' });
    const admin = reach({ ...(await readPair(server.dataDir, 'admin')), ca: bundle });
    await admin.nodes.list();
    const connected = reach(user);
    await connected.nodes.list();
    await admin.certificates.dropAuthority(true);
    expect(await admin.certificates.authorities()).toBe(newCa);
    await away.look(() => away.held.current().ca === newCa);
    expect((await reach({ ca: newCa, ...(await readPair(server.dataDir, 'admin')) }).nodes.list()).items).toHaveLength(2);
    expect(await failure(reach(user).nodes.list())).toMatchObject({ code: 'UNAVAILABLE' });
    expect(await failure(reach({ ...user, ca: newCa }).nodes.list())).toMatchObject({ code: 'UNAUTHENTICATED' });
    // Nor does it count any longer on a connection that was open.
    await vi.waitFor(async () => expect(await failure(connected.nodes.list())).toMatchObject({ code: 'UNAVAILABLE' }), {
      timeout: 30_000,
    });
  }, 60_000);
});
