import { afterEach, expect, test } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { type Client, connect, createInformer } from '../../client/index.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { startTcpProxy, type TcpProxy } from '../fakes/tcp-proxy.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

const soon = { timeMs: 300, timeoutMs: 300 };
let server: RunningServer;
let proxy: TcpProxy;
let client: Client;
const stop: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of stop.splice(0).reverse()) await each();
});

interface Setup {
  readonly client?: { readonly keepalive: typeof soon };
  readonly server?: { readonly keepalive: typeof soon };
  readonly metrics?: MetricsRegistry;
}

async function setup({
  client: ofClient = { keepalive: { timeMs: 3_600_000, timeoutMs: 1_000 } },
  ...options
}: Setup): Promise<void> {
  server = await startServer({ ...options.server, ...(options.metrics && { metrics: options.metrics }) });
  stop.push(async () => {
    await server.stop();
    await server.remove();
  });
  proxy = await startTcpProxy(server.info.address);
  stop.push(() => proxy.close());
  client = connect({ ...server.admin, address: proxy.address, ...ofClient });
  stop.push(() => client.close());
}

const configMap = (name: string) => ({ metadata: { namespace: 'default', name } });

test('a client whose server went silent notices, connects again, and its watch misses nothing', async () => {
  await setup({ client: { keepalive: soon } });
  const end = new AbortController();
  const informer = createInformer({ client: client.configMaps, name: 'test', logger: createFakeLogger() });
  const running = informer.run(end.signal);
  stop.push(() => {
    end.abort();
    return running;
  });
  await informer.waitForSync(end.signal);
  await server.client.configMaps.create(configMap('before'));
  await expect.poll(() => informer.lister.get('default/before')?.metadata?.name).toBe('before');
  expect(proxy.connections).toBe(1);
  proxy.freeze();
  await server.client.configMaps.create(configMap('meanwhile'));
  await expect.poll(() => informer.lister.get('default/meanwhile')?.metadata?.name, { timeout: 20_000 }).toBe('meanwhile');
  expect(proxy.connections).toBe(2);
});

test('a call of a client whose server went silent fails when the silence is noticed, not when its time is over', async () => {
  await setup({ client: { keepalive: soon } });
  await client.namespaces.get({ name: 'default' });
  proxy.freeze();
  const waiting = client.namespaces.get({ name: 'default' }, { timeoutMs: 3_600_000 });
  await expect(waiting).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect((await client.namespaces.get({ name: 'default' })).metadata?.name).toBe('default');
});

test('a server drops a connection whose client went silent, and the watchers on it', async () => {
  const metrics = new MetricsRegistry();
  await setup({ server: { keepalive: soon }, metrics });
  const end = new AbortController();
  const watching = (async () => {
    for await (const _ of client.configMaps.watch({ resourceVersion: '0' }, { signal: end.signal }));
  })().catch(() => {});
  stop.push(() => {
    end.abort();
    return watching;
  });
  const watchers = () =>
    metrics
      .snapshot()
      .find(({ definition }) => definition.name === 'apiserver_registered_watchers')
      ?.samples.find(({ labels }) => labels[0] === 'configmaps')?.value;
  await expect.poll(watchers).toBe(1);
  proxy.freeze();
  await expect.poll(watchers, { timeout: 20_000 }).toBe(0);
});
