import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { garbageCollector } from '../fakes/used-memory.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type Attacker, attackHttp2, END_HEADERS, END_STREAM, frame, frames, message, requestHeaders } from './attacker.ts';

// What a peer can hold open that never authenticates, or that uses the services of libraries.

const WATCH = '/grpc.health.v1.Health/Watch';
const CHECK = '/grpc.health.v1.Health/Check';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const GET = '/berth.core.v1.Namespaces/Get';
const empty = message(Buffer.alloc(0));
const metrics = new MetricsRegistry();
let server: RunningServer;
const attackers: Attacker[] = [];
const sessions: ClientHttp2Session[] = [];

beforeAll(async () => {
  server = await startServer({
    metrics,
    listenerLimits: { rate: 10_000, burst: 10_000, streams: { perPeer: 500, total: 800 } },
    anonymousLimits: { peerStreams: 10, peerCalls: 20, total: 50, takeMs: 500 },
  });
});
afterEach(async () => {
  for (const each of attackers.splice(0)) each.socket.destroy();
  for (const each of sessions.splice(0)) each.destroy();
  await expect.poll(held, { timeout: 10_000 }).toBe(0);
  await expect.poll(anonymous).toBe(0);
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

function value(sample: string): number {
  const line = formatMetrics(metrics, 'prometheus')
    .split('\n')
    .find((each) => each.startsWith(`${sample} `));
  return Number(line?.slice(sample.length + 1) ?? 0);
}
const held = () => value('berth_apiserver_unauthenticated_streams');
const anonymous = () => value('berth_apiserver_anonymous_calls');
const isServed = async () => expect((await server.client.namespaces.get({ name: 'default' })).metadata?.name).toBe('default');

async function open(options: { cert?: string; key?: string; settings?: { initialWindowSize: number } } = {}) {
  const session = connectHttp2(`https://${server.info.address}`, { ca: server.info.ca, ...options });
  sessions.push(session);
  session.setMaxListeners(0);
  session.on('error', () => {});
  await once(session, 'remoteSettings');
  return session;
}

function call(session: ClientHttp2Session, path: string, more: OutgoingHttpHeaders = {}): ClientHttp2Stream {
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...more };
  const stream = session.request(headers);
  stream.on('error', () => {});
  return stream;
}

const whenClosed = (stream: ClientHttp2Stream) => new Promise((resolve) => stream.once('close', resolve));

/** The gRPC status of a call that is refused; undefined of one that was let in. */
async function statusOf(stream: ClientHttp2Stream): Promise<unknown> {
  const [headers] = await once(stream, 'response');
  return headers['grpc-status'];
}

async function flood(connections: number, streams: number, path: string, isWhole: boolean): Promise<void> {
  const headers = requestHeaders(path);
  for (let i = 0; i < connections; i++) {
    const attacker = await attackHttp2(server.info.address);
    attackers.push(attacker);
    for (let at = 0; at < streams; at++) {
      attacker.send(frame(frames.headers, END_HEADERS, 2 * at + 1, headers));
      if (isWhole) attacker.send(frame(frames.data, END_STREAM, 2 * at + 1, empty));
    }
  }
}

it('holds ten watches of the health for an address, refuses the others with a reason, and keeps no memory of these', async () => {
  const watcher = await open();
  for (let i = 0; i < 10; i++) {
    const stream = call(watcher, WATCH);
    stream.end(empty);
    expect(await statusOf(stream)).toBeUndefined();
  }
  const collect = garbageCollector();
  collect();
  const before = process.memoryUsage().heapUsed;
  await flood(8, 400, WATCH, true);
  const refused = () => value('apiserver_flowcontrol_rejected_requests_total{priority_level="anonymous",reason="anonymous"}');
  await expect.poll(refused, { timeout: 20_000 }).toBe(8 * 400);
  expect(anonymous()).toBe(10);
  await expect.poll(held).toBeLessThanOrEqual(10);
  collect();
  // Held watches would take 3,200 times 7 KB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(8 * 1024 * 1024);
  const late = call(watcher, WATCH);
  late.end(empty);
  const [headers] = await once(late, 'response');
  expect(headers['grpc-status']).toBe('8');
  expect(decodeURIComponent(String(headers['grpc-message']))).toContain('your address has 10 streams without credentials open');
  const check = call(watcher, CHECK);
  check.end(empty);
  expect(await statusOf(check)).toBeUndefined();
  // With credentials a watch counts against its user.
  const { cert, key } = server.admin as { cert: string; key: string };
  const known = call(await open({ cert, key }), WATCH);
  known.end(empty);
  expect(await statusOf(known)).toBeUndefined();
  const running = 'apiserver_longrunning_requests{service="grpc.health.v1.Health",method="Watch"}';
  expect(value(running)).toBe(11);
  watcher.destroy();
  await expect.poll(() => value(running)).toBe(1);
  const again = call(await open(), WATCH);
  again.end(empty);
  expect(await statusOf(again)).toBeUndefined();
});

it('bounds requests that never arrive in whole, of connections that have not authenticated', async () => {
  await flood(6, 300, GET, false);
  const closed = 'berth_apiserver_connections_refused_total{reason="stream-limit"}';
  await expect.poll(() => value(closed), { timeout: 20_000 }).toBeGreaterThanOrEqual(4);
  expect(held()).toBeLessThanOrEqual(500);
  await isServed();
});

it('bounds answers that are not read by peers without credentials, and cuts them off', async () => {
  const session = await open({ settings: { initialWindowSize: 0 } });
  const streams = Array.from({ length: 60 }, () => call(session, CHECK));
  const closed = streams.map(whenClosed);
  for (const stream of streams) stream.end(empty);
  const statuses = await Promise.all(streams.map(statusOf));
  expect(statuses.filter((status) => status === '8')).toHaveLength(40);
  await Promise.all(closed);
});

it.each([
  ['a stream of writes', '/berth.meta.v1.Objects/Bulk', 'application/grpc'],
  ['reflection', REFLECTION, 'application/grpc'],
  ['a method that there is not', '/berth.core.v1.Pods/Steal', 'application/grpc'],
  ['what is no gRPC', GET, 'text/plain'],
])('closes the stream of a peer without credentials that opens %s and never ends it', async (_, path, type) => {
  const session = await open();
  const streams = Array.from({ length: 20 }, () => call(session, path, { 'content-type': type }));
  for (const stream of streams) stream.resume();
  await Promise.all(streams.map(whenClosed));
  await expect.poll(held).toBe(0);
});
