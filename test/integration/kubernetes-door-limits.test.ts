import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import {
  type Attacker,
  attackHttp2,
  attackTcp,
  attackTls,
  END_HEADERS,
  END_STREAM,
  frame,
  frames,
  headerBlock,
} from './attacker.ts';

// What issue 7 did to the port of gRPC, done to the one for Kubernetes' clients: the same bounds hold, and others work.
const metrics = new MetricsRegistry();
const attackers: Attacker[] = [];
let server: RunningServer;
let address: string;

beforeAll(async () => {
  server = await startServer({
    metrics,
    kubernetesListen: '127.0.0.1:0',
    listenerLimits: {
      ...{ handshakeMs: 1_000, prefaceMs: 1_000, unknownPerPeer: 50, rate: 10_000, burst: 10_000 },
      streams: { perPeer: 500, total: 800 },
    },
  });
  address = server.info.kubernetes!;
});
afterEach(async () => {
  for (const each of attackers.splice(0)) each.socket.destroy();
  expect((await server.client.namespaces.get({ name: 'default' })).metadata?.name).toBe('default');
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

async function keep<T extends Attacker>(attacker: Promise<T>): Promise<T> {
  const kept = await attacker;
  attackers.push(kept);
  return kept;
}

function refused(reason: string, of = metrics): number {
  const start = `berth_apiserver_connections_refused_total{reason="${reason}"} `;
  const lines = formatMetrics(of, 'prometheus').split('\n');
  return Number(lines.find((each) => each.startsWith(start))?.slice(start.length) ?? 0);
}

const path = '/api/v1/namespaces/default/configmaps';
const headers = (method: string, more = {}) =>
  headerBlock({ ':method': method, ':scheme': 'https', ':path': path, ':authority': 'x', ...more });

it('evicts the oldest silent connections of an address that opens too many', async () => {
  // None of them ends for any other reason, however long the machine takes for two hundred.
  const own = new MetricsRegistry();
  const patient = await startServer({
    metrics: own,
    kubernetesListen: '127.0.0.1:0',
    listenerLimits: { handshakeMs: 600_000, unknownPerPeer: 50, rate: 10_000, burst: 10_000 },
  });
  try {
    const all: Attacker[] = [];
    for (let i = 0; i < 200; i++) all.push(await keep(attackTcp(patient.info.kubernetes!)));
    await expect.poll(() => refused('peer-limit', own)).toBe(150);
    await expect.poll(() => all.slice(0, 150).every(({ closed }) => closed)).toBe(true);
    expect(all.slice(150).some(({ closed }) => closed)).toBe(false);
  } finally {
    await patient.stop();
    await patient.remove();
  }
});

it('ends a handshake that is never finished, and connections that say nothing after it', async () => {
  const attacker = await keep(attackTcp(address));
  attacker.send(Buffer.from([22, 3, 1, 2, 0, 1, 0]));
  const silent = [await keep(attackTls(address)), await keep(attackTls(address, { ALPNProtocols: ['http/1.1'] }))];
  await Promise.all([attacker, ...silent].map((each) => each.ended()));
  expect(refused('handshake-timeout')).toBeGreaterThanOrEqual(1);
  expect(refused('preface-timeout')).toBeGreaterThanOrEqual(2);
});

it('bounds the open streams of connections without credentials', async () => {
  const block = headers('POST');
  for (let i = 0; i < 6; i++) {
    const attacker = await keep(attackHttp2(address));
    const window = Buffer.from([0, 4, 0, 0, 0, 0]);
    attacker.send(frame(frames.settings, 0, 0, window));
    for (let at = 0; at < 200; at++) attacker.send(frame(frames.headers, END_HEADERS, 2 * at + 1, block));
  }
  const held = () => Number(/berth_apiserver_unauthenticated_streams (\d+)/.exec(formatMetrics(metrics, 'prometheus'))?.[1]);
  await expect.poll(() => refused('stream-limit'), { timeout: 10_000 }).toBeGreaterThanOrEqual(1);
  expect(held()).toBeLessThanOrEqual(500);
});

it('ends a connection that opens and resets streams as fast as it can', async () => {
  const attacker = await keep(attackHttp2(address));
  const [block, cancel] = [headers('GET'), Buffer.from([0, 0, 0, 8])];
  for (let id = 1; id < 4_000 && !attacker.closed; id += 2)
    attacker.send(frame(frames.headers, END_HEADERS, id, block), frame(frames.reset, 0, id, cancel));
  await attacker.ended();
});

it('answers a broken request of HTTP/2 by a reset, and ends the connection of more than a hundred', async () => {
  const attacker = await keep(attackHttp2(address));
  const broken = headers('GET', { ':path': '\\api' });
  const before = refused('flood');
  // In one piece: a connection that breaks under a write may be one that Node never tells the end of.
  const send = (first: number, count: number): void =>
    attacker.send(
      ...Array.from({ length: count }, (_, i) => frame(frames.headers, END_STREAM | END_HEADERS, 2 * (first + i) + 1, broken)),
    );
  send(0, 50);
  const protocolError = 1;
  await expect.poll(() => attacker.heard.resets).toEqual(Array(50).fill(protocolError));
  expect([attacker.closed, refused('flood')]).toEqual([false, before]);
  send(50, 60);
  await attacker.ended();
  await expect.poll(() => refused('flood')).toBe(before + 1);
});

it('ends a connection whose headers go on and on', async () => {
  const attacker = await keep(attackHttp2(address));
  attacker.send(frame(frames.headers, 0, 1, headers('GET')));
  for (let i = 0; i < 1_000; i++) attacker.send(frame(frames.continuation, 0, 1));
  await attacker.ended();
});

it('refuses huge headers of HTTP/1.1', async () => {
  const attacker = await keep(attackTls(address, { ALPNProtocols: ['http/1.1'] }));
  attacker.send(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\nx: ${'a'.repeat(200_000)}\r\n\r\n`));
  await once(attacker.socket, 'close');
  expect(attacker.text).not.toMatch(/^HTTP\/1\.1 [25]/);
});
