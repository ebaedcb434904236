import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { formatToken } from '../../apiserver/authn/tokens.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { sumOf } from './door-attacker.ts';

// What a client may try with watches that it does not read.
const metrics = new MetricsRegistry();
const maps = '/api/v1/namespaces/default/configmaps';
const MiB = 1024 * 1024;
const NEWLINE = 10;
let server: RunningServer;

beforeAll(async () => {
  const first = await startServer();
  await first.stop();
  const file = join(first.dataDir, 'pki', 'tokens');
  const lines = ['hog', 'reader'].map((user) => formatToken(user, { user, groups: [] })).join('');
  await writeFile(file, (await readFile(file, 'utf8')) + lines);
  server = await startServer({ dataDir: first.dataDir, metrics, kubernetesListen: '127.0.0.1:0' });
  const { roleBindings, configMaps } = server.client;
  const metadata = { namespace: 'default', name: 'readers' };
  const subjects = ['hog', 'reader'].map((name) => ({ kind: 'User', name }));
  await roleBindings.create({ metadata, roleRef: { kind: 'ClusterRole', name: 'view' }, subjects });
  await configMaps.create({ metadata: { namespace: 'default', name: 'large' }, data: { large: 'x'.repeat(1_000_000) } });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

/** Watches, each with a selector of its own, so that none shares its messages. */
async function watch(user: string, count: number, initialWindowSize: number) {
  const session = connectHttp2(`https://${server.info.kubernetes}`, { ca: server.admin.ca, settings: { initialWindowSize } });
  const { metadata } = await server.client.configMaps.list({ namespace: 'default' });
  const from = `watch=1&resourceVersion=${metadata?.resourceVersion}`;
  const streams: ClientHttp2Stream[] = [];
  for (let i = 0; i < count; i++) {
    const path = `${maps}?${from}&labelSelector=${encodeURIComponent(`k${i}!=v`)}`;
    const stream = session.request({ ':path': path, authorization: `Bearer ${user}` });
    stream.on('error', () => {});
    await once(stream, 'response');
    streams.push(stream);
  }
  return { session, streams };
}

const sent = (): number => sumOf(metrics, 'berth_apiserver_watch_sent_bytes_total');

it('of one client hold 32 MiB of events at most that it does not read; others get theirs', async () => {
  const unread = await watch('hog', 60, 0);
  const before = sent();
  const other = await watch('reader', 1, 4 * MiB);
  await server.client.configMaps.patch({ namespace: 'default', name: 'large' }, { data: { more: 'yes' } });
  const [event] = (await once(other.streams[0]!, 'data')) as [Buffer];
  expect(event.toString()).toMatch(/^\{"type":"MODIFIED"/);
  await expect.poll(() => sent() - before).toBeGreaterThan(30 * MiB);
  expect(sent() - before).toBeLessThan(36 * MiB);
  other.session.destroy();
  unread.session.destroy();
});

it('go on with the events when those before were read', async () => {
  const { session, streams } = await watch('hog', 60, 4 * MiB);
  const names = streams.map(async (stream) => {
    const pieces: Buffer[] = [];
    for await (const piece of stream) {
      pieces.push(piece as Buffer);
      if ((piece as Buffer).at(-1) === NEWLINE) break;
    }
    return (JSON.parse(Buffer.concat(pieces).toString()) as { object: { metadata: { name: string } } }).object.metadata.name;
  });
  await server.client.configMaps.patch({ namespace: 'default', name: 'large' }, { data: { more: 'still' } });
  expect(new Set(await Promise.all(names))).toEqual(new Set(['large']));
  session.destroy();
});
