import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { ConfigMap } from '../../api/generated/types.ts';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { runServer } from '../../apiserver/main.ts';
import { type Client, connect, createReflector, listAll, type WatchEvent } from '../../client/index.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of cleanups.splice(0).reverse()) await each();
});

function client(server: RunningServer): Client {
  const made = connect(server.admin);
  cleanups.push(() => made.close());
  return made;
}

/** Begins a call that waits three seconds for a version that does not come. Resolves once the server runs it. */
async function beginCall(caller: Client, metrics: MetricsRegistry): Promise<{ readonly outcome: Promise<unknown> }> {
  const running = caller.namespaces.list({ resourceVersion: '999999', resourceVersionMatch: 'NotOlderThan' });
  const outcome = running.catch((error: unknown) => error);
  await expect
    .poll(() => formatMetrics(metrics, 'prometheus'))
    .toMatch(/^apiserver_current_inflight_requests\{request_kind="readOnly"\} 1$/m);
  return { outcome };
}

/** Creates one object after the other until told otherwise; what fails is forgotten, since its outcome is unknown. */
async function write(made: Client, name: string, acknowledged: string[], signal: AbortSignal): Promise<void> {
  for (let i = 0; !signal.aborted; i++) {
    try {
      await made.configMaps.create({ metadata: { namespace: 'default', name: `${name}-${i}` } });
      acknowledged.push(`${name}-${i}`);
    } catch {
      await delay(20);
    }
  }
}

test('a stop under load loses no acknowledged write, and watches go on after it without a gap or a double', async () => {
  const first = await startServer({ backend: 'lmdb' });
  cleanups.push(() => first.remove());
  const [writer, watcher] = [client(first), client(first)];
  const acknowledged: string[] = [];
  const seen: string[] = [];
  let lists = 0;
  const end = new AbortController();
  const sink = {
    replace: (objects: readonly ConfigMap[]) => {
      lists++;
      seen.push(...objects.map(({ metadata }) => metadata?.name ?? ''));
    },
    apply: (events: readonly WatchEvent<ConfigMap>[]) => {
      seen.push(...events.map(({ object }) => object.metadata?.name ?? ''));
    },
  };
  const reflector = createReflector({
    name: 'test',
    client: watcher.configMaps,
    sink,
    backoff: { initialMs: 20, maxMs: 100 },
    logger: createFakeLogger(),
  }).run(end.signal);
  const writers = Array.from({ length: 16 }, (_, i) => write(writer, `w${i}`, acknowledged, end.signal));
  await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(200);
  await first.stop();
  const atStop = acknowledged.length;
  const second = await startServer({ backend: 'lmdb', dataDir: first.dataDir, listen: first.info.address });
  cleanups.push(() => second.stop());
  await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(atStop + 200);
  await expect.poll(() => seen.length, { timeout: 30_000 }).toBeGreaterThan(atStop);
  end.abort();
  await Promise.all(writers);
  const stored = (await listAll(second.client.configMaps, { namespace: 'default' })).items.map(({ metadata }) => metadata?.name);
  expect(acknowledged.filter((name) => !stored.includes(name))).toEqual([]);
  await reflector;
  expect(lists).toBe(1);
  expect(new Set(seen).size).toBe(seen.length);
});

test('a stop answers the calls that run, in their own time', async () => {
  const metrics = new MetricsRegistry();
  const server = await startServer({ metrics });
  cleanups.push(() => server.remove());
  const caller = client(server);
  const { outcome } = await beginCall(caller, metrics);
  await server.stop();
  expect(await outcome).toMatchObject({ code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('version: 999999') });
  await expect(caller.namespaces.get({ name: 'default' })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('a stop cuts what takes longer than its bound', async () => {
  const metrics = new MetricsRegistry();
  const server = await startServer({ drainMs: 100, metrics });
  cleanups.push(() => server.remove());
  const { outcome } = await beginCall(client(server), metrics);
  await server.stop();
  expect(await outcome).toMatchObject({ code: expect.stringMatching(/^(UNAVAILABLE|CANCELLED)$/) });
});

test('a server that is told to stop before it serves does so', async () => {
  const server = await startServer({ backend: 'lmdb' });
  cleanups.push(() => server.remove());
  await server.stop();
  const stopped = AbortSignal.abort();
  const log = createFakeLogger() as never;
  await runServer({ dataDir: server.dataDir, listen: server.info.address, backend: 'lmdb', log }, stopped);
});
