import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { formatToken } from '../../apiserver/authn/tokens.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type Attacker, attackHttp2, END_HEADERS, END_STREAM, frame, frames, headerBlock } from './attacker.ts';
import { askDoor, charged, nothing } from './door-attacker.ts';

// What a client can take from others at the HTTP door by not reading what it asks for, or by frames that cost it
// little.
const MiB = 1024 * 1024;
const metrics = new MetricsRegistry();
const maps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
const sessions: ClientHttp2Session[] = [];
const attackers: Attacker[] = [];
let server: RunningServer;

/** "greedy" and "grasping" may edit in the namespace team, "modest" in the namespace default. */
beforeAll(async () => {
  const first = await startServer();
  await first.stop();
  const file = join(first.dataDir, 'pki', 'tokens');
  const users = [
    ...['greedy', 'grasping', 'modest'].map((user) => formatToken(user, { user, groups: [] })),
    formatToken('node', { user: 'system:node:n1', groups: ['system:nodes'] }),
  ];
  await writeFile(file, (await readFile(file, 'utf8')) + users.join(''));
  server = await startServer({
    dataDir: first.dataDir,
    metrics,
    kubernetesListen: '127.0.0.1:0',
    answerLimits: { bytes: 12 * MiB, userBytes: 4 * MiB },
    // No answer is cut off while a test runs.
    listLimits: { maxBytes: 12 * MiB, waitMs: 60_000, firstWaitMs: 2_000, takeMs: 60_000 },
  });
  const { namespaces, configMaps, roleBindings } = server.client;
  await namespaces.create({ metadata: { name: 'team' } });
  for (const [namespace, name] of [
    ['team', 'greedy'],
    ['team', 'grasping'],
    ['default', 'modest'],
  ] as const)
    await roleBindings.create({
      metadata: { namespace, name },
      roleRef: { kind: 'ClusterRole', name: 'edit' },
      subjects: [{ kind: 'User', name }],
    });
  const data = { large: 'x'.repeat(900_000) };
  for (const namespace of ['team', 'default'])
    for (const name of ['a', 'b', 'c']) await configMaps.create({ metadata: { namespace, name }, data });
});
afterEach(async () => {
  for (const each of sessions.splice(0)) each.destroy();
  for (const each of attackers.splice(0)) each.socket.destroy();
  await expect.poll(() => charged(metrics)).toEqual(nothing);
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

/** So many requests of a user, over a connection on which next to nothing of an answer can be sent. */
async function askWithoutReading(user: string, path: string, count: number): Promise<ClientHttp2Stream[]> {
  const settings = { initialWindowSize: 512 };
  const session = connectHttp2(`https://${server.info.kubernetes}`, { ca: server.info.ca, settings });
  sessions.push(session);
  session.on('error', () => {});
  session.setMaxListeners(0);
  await once(session, 'remoteSettings');
  return Array.from({ length: count }, () => {
    const stream = session.request({ ':path': path, authorization: `Bearer ${user}` });
    stream.on('error', () => {});
    return stream;
  });
}

const as = (user: string) => ({ anonymous: true, headers: { authorization: `Bearer ${user}` } }) as const;

it('lists that two tenants do not read are bounded, and everybody else gets theirs', async () => {
  for (const user of ['greedy', 'grasping']) await askWithoutReading(user, maps('team'), 100);
  await expect.poll(() => charged(metrics).lists).toBeGreaterThan(2 * MiB);
  const began = performance.now();
  const others = [askDoor(server, maps('default')), askDoor(server, maps('default'), as('modest'))];
  const nodes = askDoor(server, '/api/v1/pods?fieldSelector=spec.nodeName%3Dn1', as('node'));
  expect((await Promise.all([...others, nodes])).map(({ code }) => code)).toEqual([200, 200, 200]);
  expect(performance.now() - began).toBeLessThan(15_000);
  expect(charged(metrics).lists).toBeLessThanOrEqual(12 * MiB);
});

it('answers that a tenant does not read are bounded: more are refused with a time, and others served', async () => {
  const streams = await askWithoutReading('greedy', `${maps('team')}/a`, 60);
  const answers = await Promise.all(streams.map((each) => once(each, 'response').then(([headers]) => headers)));
  const refused = answers.filter((each) => each[':status'] === 429);
  expect(refused.length).toBeGreaterThan(50);
  expect(refused.every((each) => Number(each['retry-after']) >= 1)).toBe(true);
  expect(charged(metrics).answers).toBeLessThanOrEqual(5 * MiB);
  expect((await askDoor(server, `${maps('default')}/a`, as('modest'))).code).toBe(200);
});

async function attack(): Promise<Attacker> {
  const { cert, key } = server.admin as { cert: string; key: string };
  const attacker = await attackHttp2(server.info.kubernetes!, { cert, key });
  attackers.push(attacker);
  return attacker;
}

it.each([
  ['pings', () => frame(frames.ping, 0, 0, Buffer.alloc(8))],
  ['settings', () => frame(frames.settings, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))],
])('a connection that sends %s and does not read the answers is ended', async (_, make) => {
  const attacker = await attack();
  attacker.socket.pause();
  const many = Buffer.concat(Array.from({ length: 10_000 }, make));
  for (let i = 0; i < 100 && !attacker.closed; i++) {
    attacker.send(many);
    await new Promise((resolve) => setTimeout(resolve, 10));
    // Notices the end of the connection.
    if (i % 10 === 9) attacker.socket.resume();
  }
  await attacker.ended();
  expect((await askDoor(server, '/readyz')).code).toBe(200);
});

it('headers that are small on the way and large when they are read are refused', async () => {
  const attacker = await attack();
  const value = Buffer.alloc(3_900, 97);
  // A header that both sides remember, then references to it, one byte each.
  const length = [0x7f, ...[(3_900 - 127) & 127].map((low) => low | 128), (3_900 - 127) >> 7];
  const remembered = Buffer.concat([Buffer.from([0x40, 1]), Buffer.from('x'), Buffer.from(length), value]);
  const whole = { ':method': 'GET', ':scheme': 'https', ':path': maps('default'), ':authority': 'x' };
  const block = Buffer.concat([headerBlock(whole), remembered, Buffer.alloc(200, 0xbe)]);
  attacker.send(frame(frames.headers, END_HEADERS | END_STREAM, 1, block));
  // The list has megabytes.
  await expect.poll(() => attacker.heard.types).toContain(frames.data);
  expect(attacker.heard.bytes).toBeLessThan(4_000);
});
