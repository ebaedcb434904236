import { once } from 'node:events';
import { connect as connectHttp2, type ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { Server } from '@grpc/grpc-js';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { formatMetrics, MetricsRegistry } from '../../../api/metrics/index.ts';
import { ConnectionBounds, type ListenerLimits } from '../../connections/connection-bounds.ts';
import { Refusals } from '../../connections/refusals.ts';
import { createAuthority, issueCertificate } from '../../pki/certificates.ts';
import { ListenerCredentials } from './credentials.ts';
import { Listener } from './listener.ts';

async function listening(limits: Partial<ListenerLimits> = {}) {
  const authority = await createAuthority('test', new Date());
  const subject = { commonName: 'berth', organizations: [] };
  const identity = async () => {
    const { certificate, key } = await issueCertificate(authority, subject, ['127.0.0.1'], new Date());
    return { certificate, key, ca: authority.certificate };
  };
  const credentials = new ListenerCredentials(await identity());
  const metrics = new MetricsRegistry();
  const refusals = new Refusals({ metrics, log: pino({ level: 'silent' }), now: () => 0 });
  const server = new Server();
  const bounds = new ConnectionBounds({ limits, metrics, refusals });
  const listener = new Listener(server, { credentials, bounds });
  const port = await listener.open('127.0.0.1:0');
  const open = async (client: { readonly cert?: string; readonly key?: string } = {}) => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: authority.certificate, ...client });
    session.on('error', () => {});
    await once(session, 'remoteSettings');
    return session;
  };
  return { authority, server, metrics, bounds, listener, credentials, identity, open };
}

test('a stop ends although a connection was given up in the moment before', async () => {
  const { server, listener, open } = await listening();
  const [http2] = (server as unknown as { http2Servers: ReadonlyMap<NodeJS.EventEmitter, unknown> }).http2Servers.keys();
  const begun = once(http2!, 'session') as Promise<[ServerHttp2Session]>;
  const client = await open();
  const [session] = await begun;
  session.destroy();
  expect(session.closed).toBe(false);
  await listener.drain(100);
  client.destroy();
});

test('another certificate is shown to new connections, and the open ones stay', async () => {
  const { listener, credentials, identity, open } = await listening();
  const serial = (session: Awaited<ReturnType<typeof open>>) =>
    (session.socket as unknown as TLSSocket).getPeerCertificate().serialNumber;
  const first = await open();
  const next = await identity();
  credentials.swap(next);
  const second = await open();
  expect(serial(second)).not.toBe(serial(first));
  expect(first.closed || first.destroyed).toBe(false);
  await new Promise((resolve) => first.ping(() => resolve(undefined)));
  // One that cannot be used changes nothing.
  expect(() => credentials.swap({ ...next, key: 'no key' })).toThrow();
  const third = await open();
  expect(serial(third)).toBe(serial(second));
  for (const session of [first, second, third]) session.close();
  await listener.drain(1_000);
});

test('connections end whose certificate an authority signed that counts no more, and others stay', async () => {
  const { authority, bounds, listener, credentials, identity, open } = await listening();
  const other = await createAuthority('test', new Date());
  credentials.swap({ ...(await identity()), ca: authority.certificate + other.certificate });
  const clientOf = async (signer: typeof authority) => {
    const { certificate: cert, key } = await issueCertificate(
      signer,
      { commonName: 'a', organizations: [] },
      undefined,
      new Date(),
    );
    return open({ cert, key });
  };
  const [thief, friend, nobody] = [await clientOf(authority), await clientOf(other), await open()];
  const ended = once(thief, 'close');
  bounds.endUntrusted([other.certificate]);
  await ended;
  for (const session of [friend, nobody]) {
    await new Promise((resolve) => session.ping(() => resolve(undefined)));
    expect(session.destroyed).toBe(false);
    session.close();
  }
  await listener.drain(1_000);
});

test('connections that come too fast from one address wait, and are served then', async () => {
  const { listener, metrics, open } = await listening({ rate: 4, burst: 2 });
  const sessions = await Promise.all(Array.from({ length: 6 }, () => open()));
  expect(formatMetrics(metrics, 'prometheus')).toMatch(/refused_total\{reason="connection-rate"\} [1-9]/);
  expect(sessions.every((session) => !session.destroyed)).toBe(true);
  for (const session of sessions) session.close();
  await listener.drain(1_000);
});
