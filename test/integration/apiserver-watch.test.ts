import { once } from 'node:events';
import { connect as tcp } from 'node:net';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { connect, type Scope, type WatchEvent } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
beforeEach(async () => {
  server = await startServer({ watchLimits: { bookmarkMs: 50 } });
});
afterEach(async () => {
  await server.stop();
  await server.remove();
});

const pod = (name: string, labels: Record<string, string> = {}): Pod => ({
  metadata: { name, namespace: 'default', labels },
  spec: { containers: [{ name: 'main', image: 'x' }] },
});

/** Reads a watch until `enough` says so; bookmarks are kept only when asked for. */
async function collect(scope: Scope, enough: (events: WatchEvent<Pod>[]) => boolean, from = server): Promise<WatchEvent<Pod>[]> {
  const stop = new AbortController();
  const seen: WatchEvent<Pod>[] = [];
  for await (const events of from.client.pods.watch({ namespace: 'default', ...scope }, { signal: stop.signal })) {
    seen.push(...events.filter((event) => scope.allowWatchBookmarks || scope.sendInitialEvents || event.type !== 'BOOKMARK'));
    if (enough(seen)) break;
  }
  stop.abort();
  return seen;
}

const names = (events: WatchEvent<Pod>[]): string[] =>
  events.map((event) => `${event.type} ${event.object.metadata?.name ?? ''}`);

test('a watch from a version delivers every change after it, in order, exactly once', async () => {
  const first = await server.client.pods.create(pod('a'));
  const made = ['b', 'c', 'd'];
  for (const name of made) await server.client.pods.create(pod(name));
  await server.client.pods.patch({ namespace: 'default', name: 'b' }, { metadata: { labels: { x: '1' } } });
  await server.client.pods.delete({ namespace: 'default', name: 'c' });
  const events = await collect({ resourceVersion: first.metadata!.resourceVersion }, (seen) => seen.length >= 5);
  expect(names(events)).toEqual(['ADDED b', 'ADDED c', 'ADDED d', 'MODIFIED b', 'DELETED c']);
  const versions = events.map((event) => Number(event.object.metadata?.resourceVersion));
  expect(versions).toEqual([...new Set(versions)].sort((x, y) => x - y));
});

test('objects that come into and leave a selection are ADDED and DELETED', async () => {
  const start = await server.client.pods.create(pod('a', { app: 'web' }));
  await server.client.pods.create(pod('other', { app: 'db' }));
  await server.client.pods.patch({ namespace: 'default', name: 'other' }, { metadata: { labels: { app: 'web' } } });
  await server.client.pods.patch({ namespace: 'default', name: 'other' }, { metadata: { annotations: { x: '1' } } });
  await server.client.pods.patch({ namespace: 'default', name: 'a' }, { metadata: { labels: { app: 'db' } } });
  const scope = { labelSelector: 'app=web', resourceVersion: start.metadata!.resourceVersion };
  const events = await collect(scope, (seen) => seen.length >= 3);
  expect(names(events)).toEqual(['ADDED other', 'MODIFIED other', 'DELETED a']);
  // What leaves is shown as it was, with the version of the change that made it leave.
  expect(events[2]!.object.metadata?.labels).toEqual({ app: 'web' });
  const now = await server.client.pods.get({ namespace: 'default', name: 'a' });
  expect(events[2]!.object.metadata?.resourceVersion).toBe(now.metadata?.resourceVersion);
});

test('a field selector follows pods to their node', async () => {
  await server.client.nodes.create({ metadata: { name: 'n1' } });
  const node = await server.client.nodes.get({ name: 'n1' });
  await server.client.nodes.updateStatus({ ...node, status: { allocatable: { pods: { string: '9' } } } });
  const start = await server.client.pods.create(pod('a'));
  await server.client.pods.bind({ namespace: 'default', name: 'a' }, 'n1');
  const scope = { fieldSelector: 'spec.nodeName=n1', resourceVersion: start.metadata!.resourceVersion };
  expect(names(await collect(scope, (seen) => seen.length >= 1))).toEqual(['ADDED a']);
});

test('sendInitialEvents begins with the present state and says where it ends', async () => {
  await server.client.pods.create(pod('a'));
  await server.client.pods.create(pod('b'));
  const events = await collect({ sendInitialEvents: true }, (seen) => seen.some((event) => event.type === 'BOOKMARK'));
  expect(names(events)).toEqual(['ADDED a', 'ADDED b', 'BOOKMARK ']);
  expect(events[2]!.object.metadata?.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
});

test('bookmarks keep the version of a quiet watch fresh', async () => {
  const start = await server.client.pods.create(pod('a'));
  const reading = collect({ resourceVersion: start.metadata!.resourceVersion, allowWatchBookmarks: true }, (seen) =>
    seen.some((event) => Number(event.object.metadata?.resourceVersion) > Number(start.metadata!.resourceVersion)),
  );
  const elsewhere = await server.client.configMaps.create({ metadata: { name: 'x', namespace: 'default' } });
  const last = (await reading).at(-1)!;
  expect(last.type).toBe('BOOKMARK');
  expect(Number(last.object.metadata?.resourceVersion)).toBeGreaterThanOrEqual(Number(elsewhere.metadata?.resourceVersion));
});

test('a watch ends normally after timeoutSeconds', async () => {
  const scope = { namespace: 'default', timeoutSeconds: 1, sendInitialEvents: false };
  for await (const _ of server.client.pods.watch(scope, { signal: new AbortController().signal }));
});

test('streams end normally at ages that differ, so that not all watchers come back together', async () => {
  const aging = await startServer({ watchLimits: { maxAgeMs: 2_000 } });
  const { metadata } = await aging.client.pods.list({ namespace: 'default' });
  const begun = performance.now();
  const ages = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const scope = { namespace: 'default', resourceVersion: metadata.resourceVersion };
      for await (const _ of aging.client.pods.watch(scope, { signal: new AbortController().signal }));
      return performance.now() - begun;
    }),
  );
  expect(Math.min(...ages)).toBeGreaterThan(1_400);
  expect(new Set(ages.map((age) => Math.round(age / 250))).size).toBeGreaterThan(1);
  await aging.stop();
  await aging.remove();
});

test('a version whose changes are no longer kept is expired, and so is one of another store', async () => {
  const small = await startServer({ ring: { maxEvents: 2 } });
  const first = await small.client.pods.create(pod('a'));
  for (const name of ['b', 'c', 'd']) await small.client.pods.create(pod(name));
  const before = { resourceVersion: first.metadata!.resourceVersion };
  await expect(collect(before, () => true, small)).rejects.toMatchObject({ code: 'OUT_OF_RANGE', reason: 'Expired' });
  await expect(collect({ resourceVersion: '999999' }, () => true, small)).rejects.toMatchObject({ code: 'OUT_OF_RANGE' });
  await small.stop();
  await small.remove();
});

test('a watcher that does not read is cut off and the others never notice', async () => {
  const refused: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => refused.push(line) });
  // Longer than a busy machine keeps the watchers that read from it.
  const strict = await startServer({ watchLimits: { stallMs: 5_000 }, log });
  const { resourceVersion } = (await strict.client.pods.create(pod('first'))).metadata!;
  const scope = { namespace: 'default', resourceVersion };
  // The second batch of this one is not read, so flow control stops it.
  const apart = connect(strict.admin);
  const slow = apart.pods.watch(scope, { signal: new AbortController().signal })[Symbol.asyncIterator]();
  const opened = slow.next();
  const count = 400;
  const fast = collect(scope, (seen) => seen.length >= count, strict);
  const big = 'x'.repeat(20_000);
  const create = (i: number): Promise<Pod> => {
    const body = pod(`p${i}`);
    body.metadata!.annotations = { big };
    return strict.client.pods.create(body);
  };
  for (let i = 0; i < count; i += 20) await Promise.all(Array.from({ length: 20 }, (_, k) => create(i + k)));
  expect(await fast).toHaveLength(count);
  await opened;
  // The watcher reads again only when the server has given it up, however long that takes.
  await expect.poll(() => refused.some((line) => line.includes('RESOURCE_EXHAUSTED')), { timeout: 30_000 }).toBe(true);
  const end = (async () => {
    while (!(await slow.next()).done);
  })();
  await expect(end).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  apart.close();
  await strict.stop();
  await strict.remove();
});

test('a watch resumes across a restart without a gap', async () => {
  const one = await startServer({ backend: 'lmdb' });
  const first = await one.client.pods.create(pod('a'));
  await one.client.pods.create(pod('b'));
  await one.client.pods.delete({ namespace: 'default', name: 'a' });
  await one.stop();
  const two = await startServer({ backend: 'lmdb', dataDir: one.dataDir });
  await two.client.pods.create(pod('c'));
  const events = await collect({ resourceVersion: first.metadata!.resourceVersion }, (seen) => seen.length >= 3, two);
  expect(names(events)).toEqual(['ADDED b', 'DELETED a', 'ADDED c']);
  await two.stop();
  await two.remove();
});

test('a server with open watches and a silent connection stops at once, and the watches end normally', async () => {
  const one = await startServer();
  const silent = tcp(one.info.port, '127.0.0.1');
  await once(silent, 'connect');
  const made = await one.client.pods.create(pod('a'));
  const scope = { namespace: 'default', resourceVersion: made.metadata!.resourceVersion };
  const apart = connect(one.admin);
  const watches = Array.from({ length: 20 }, () =>
    apart.pods.watch(scope, { signal: new AbortController().signal })[Symbol.asyncIterator](),
  );
  await one.client.pods.create(pod('b'));
  // Each has got the change, so each is open.
  for (const watch of watches) expect((await watch.next()).value).toHaveLength(1);
  const begun = performance.now();
  const ends = watches.map((watch) => watch.next());
  await one.stop();
  expect(performance.now() - begun).toBeLessThan(3_000);
  for (const end of ends) expect(await end).toMatchObject({ done: true });
  apart.close();
  await one.remove();
});
