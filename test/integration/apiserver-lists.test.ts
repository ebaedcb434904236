import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from 'node:http2';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { type ConfigMap, createInformer, listAll } from '../../client/index.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(options: Parameters<typeof startServer>[0]): Promise<RunningServer> {
  const server = await startServer(options);
  cleanups.push(async () => {
    await server.stop();
    await server.remove();
  });
  return server;
}

const configMap = (name: string, text = ''): ConfigMap => ({ metadata: { name, namespace: 'default' }, data: { text } });

/** A client that asks for a list and takes none of the answer, as its flow control has no room. */
function openUnread({ info, admin }: RunningServer, method = 'List', request = 'ListRequest'): ClientHttp2Stream {
  const session: ClientHttp2Session = connectHttp2(`https://${info.address}`, {
    ca: info.ca,
    cert: admin.cert!,
    key: admin.key!,
    settings: { initialWindowSize: 0 },
  });
  session.on('error', () => {});
  cleanups.push(() => session.destroy());
  const path = `/berth.core.v1.ConfigMaps/${method}`;
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => {});
  const body = encodeMessage(`berth.meta.v1.${request}`, {});
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  stream.end(Buffer.concat([head, body]));
  return stream;
}

test('lists beyond the bound wait for their turn, and are refused with a delay when it does not come', async () => {
  const server = await start({ listLimits: { userBytes: 1, waitMs: 300 } });
  await server.client.configMaps.create(configMap('a', 'x'.repeat(1_000)));
  const unread = openUnread(server);
  await once(unread, 'response');
  // The client would come back by itself if it had the time.
  await expect(server.client.configMaps.list({}, { timeoutMs: 900 })).rejects.toMatchObject({
    code: 'RESOURCE_EXHAUSTED',
    message: expect.stringContaining('try again'),
    retryAfterMs: expect.toSatisfy((ms: number) => ms >= 1_000 && ms <= 3_000),
  });
  // What reads one object does not stand behind lists.
  expect((await server.client.configMaps.get({ namespace: 'default', name: 'a' })).data?.text).toHaveLength(1_000);
  unread.close(constants.NGHTTP2_CANCEL);
  expect((await server.client.configMaps.list({})).items.length).toBeGreaterThan(0);
});

test('a list that its client does not read is cut off, so that its room serves others', async () => {
  const server = await start({ listLimits: { userBytes: 1, waitMs: 20_000, takeMs: 200 } });
  await server.client.configMaps.create(configMap('a', 'x'.repeat(1_000)));
  const unread = openUnread(server);
  await once(unread, 'response');
  const closed = new Promise((resolve) => unread.once('close', resolve));
  const listed = server.client.configMaps.list({});
  await closed;
  expect(unread.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  expect((await listed).items.map((item) => item.metadata?.name)).toContain('a');
});

test('watches that begin with the present objects take their turn like lists', async () => {
  const server = await start({ listLimits: { userBytes: 1, waitMs: 300 } });
  await server.client.configMaps.create(configMap('a', 'x'.repeat(1_000)));
  const unread = openUnread(server, 'Watch', 'WatchRequest');
  await once(unread, 'response');
  const signal = new AbortController().signal;
  const begin = async (): Promise<void> => {
    for await (const _ of server.client.configMaps.watch({ sendInitialEvents: true }, { signal })) return;
  };
  await expect(begin()).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  unread.close(constants.NGHTTP2_CANCEL);
  await begin();
});

test('a watch that waits for its turn begins with what is there when it has it, and holds nothing before', async () => {
  const metrics = new MetricsRegistry();
  const server = await start({ listLimits: { userBytes: 1, waitMs: 60_000 }, metrics });
  await server.client.configMaps.create(configMap('a', 'x'.repeat(1_000)));
  const unread = openUnread(server);
  await once(unread, 'response');
  const signal = new AbortController().signal;
  const begin = async (): Promise<string[]> => {
    const seen: string[] = [];
    const scope = { namespace: 'default', sendInitialEvents: true };
    for await (const events of server.client.configMaps.watch(scope, { signal })) {
      seen.push(...events.map(({ type, object }) => `${type} ${object.metadata?.name ?? ''}`));
      if (seen.at(-1)?.startsWith('BOOKMARK')) return seen;
    }
    return seen;
  };
  const begun = begin();
  await expect
    .poll(() => formatMetrics(metrics, 'prometheus'), { timeout: 20_000 })
    .toContain('berth_apiserver_lists_waiting{priority_level="control"} 1');
  await server.client.configMaps.create(configMap('later'));
  unread.close(constants.NGHTTP2_CANCEL);
  expect(await begun).toEqual(expect.arrayContaining(['ADDED a', 'ADDED later']));
});

test('many that list a large kind at once all get it, whole, though only a few have their turn at a time', async () => {
  const server = await start({ listLimits: { maxBytes: 1_000_000, userBytes: 1_000_000 } });
  for (let i = 0; i < 30; i++) await server.client.configMaps.create(configMap(`c${i}`, 'x'.repeat(100_000)));
  const lists = await Promise.all(Array.from({ length: 20 }, () => listAll(server.client.configMaps, { namespace: 'default' })));
  for (const { items } of lists) expect(items.filter(({ data }) => data?.text?.length === 100_000)).toHaveLength(30);
});

test('an informer whose list is refused comes back when it was told to, and not before', async () => {
  const refused: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => line.includes('RESOURCE_EXHAUSTED') && refused.push(line) });
  const server = await start({ listLimits: { userBytes: 1, waitMs: 50 }, log });
  await server.client.configMaps.create(configMap('a', 'x'.repeat(1_000)));
  const unread = openUnread(server);
  await once(unread, 'response');
  const stop = new AbortController();
  const informer = createInformer<ConfigMap>({
    name: 'configmaps',
    client: server.client.configMaps,
    backoff: { initialMs: 1, maxMs: 1 },
    logger: createFakeLogger(),
  });
  const running = informer.run(stop.signal);
  await expect.poll(() => refused.length, { timeout: 20_000 }).toBe(1);
  unread.close(constants.NGHTTP2_CANCEL);
  await informer.waitForSync(stop.signal);
  // Its own backoff of a millisecond would have asked many times.
  expect(refused).toHaveLength(1);
  expect(informer.lister.list().map((item) => item.metadata?.name)).toContain('a');
  stop.abort();
  await running;
});
