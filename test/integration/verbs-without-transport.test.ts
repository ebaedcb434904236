import pino from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type { ConfigMap, ConfigMapList, ConfigMapWatchResponse } from '../../api/generated/types.ts';
import { configMap } from '../../api/kinds/config-map/kind.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { Authorizer } from '../../apiserver/authz/authorizer.ts';
import { createServerRegistry, type ServerRegistry } from '../../apiserver/server-registry.ts';
import { createMemoryStorage } from '../../apiserver/storage/memory/memory-storage.ts';
import type { CallContext } from '../../apiserver/verbs/call-context.ts';
import { storedForm } from '../../apiserver/verbs/list-form.ts';
import { defaultListLimits } from '../../apiserver/verbs/list-gate.ts';
import { joinPieces } from '../../apiserver/verbs/pieces.ts';
import type { Reply } from '../../apiserver/verbs/prepared-call.ts';
import { Verbs } from '../../apiserver/verbs/verbs.ts';
import { defaultWatchLimits, type WatchLimits } from '../../apiserver/verbs/watch-pump.ts';
import type { WatchSink } from '../../apiserver/verbs/watch-sink.ts';
import { readWriteRequest } from '../../apiserver/verbs/write-request.ts';
import { protobufEvents } from '../../apiserver/watch/event-format.ts';
import { FRAME_HEADER_BYTES } from '../../apiserver/watch/event-frame.ts';
import { runFeed } from '../../apiserver/watch/feed.ts';
import { fakeCall } from '../fakes/fake-call-context.ts';

// What a second transport needs of the API server: the verbs, a context for each call, and a sink for each watch.
let stopped: AbortController;
let server: ServerRegistry;
let verbs: Verbs;
let authorizer: Authorizer;

/** Where a client would take the responses of a watch. */
class MemorySink implements WatchSink {
  readonly events: string[] = [];
  begun = false;
  wasCutOff = false;
  /** Whether the client reads. */
  reads = true;

  begin(): void {
    this.begun = true;
  }

  send(frame: Buffer, taken: () => void): void {
    const message = frame.subarray(FRAME_HEADER_BYTES);
    const { events = [] } = decodeMessage<ConfigMapWatchResponse>('berth.core.v1.ConfigMapWatchResponse', message);
    this.events.push(...events.map(({ type, object }) => `${type} ${object?.metadata?.name ?? ''}`.trim()));
    if (this.reads) setImmediate(taken);
  }

  cutOff(): void {
    this.wasCutOff = true;
  }
}

/** A call of an administrator, with the real authorizer. */
function call(parts: Partial<CallContext> = {}): CallContext {
  const made: CallContext = fakeCall({
    authorizer,
    authorize: (access) => authorizer.authorize(made.identity, access),
    whenTaken: (_, done) => done(),
    ...parts,
  });
  return made;
}

function createVerbs(watchLimits: Partial<WatchLimits> = {}): Verbs {
  const limits = { watchLimits: { ...defaultWatchLimits, ...watchLimits }, listLimits: defaultListLimits };
  return new Verbs({ registry: server.registry, ...limits, random: Math.random, metrics: new MetricsRegistry() });
}

const store = () => server.registry.store('ConfigMap');
const bytesOf = ({ bytes }: Reply): Buffer => (bytes instanceof Uint8Array ? bytes : joinPieces(bytes));
const until = (condition: () => boolean) => expect.poll(condition, { timeout: 10_000, interval: 5 }).toBe(true);

async function create(name: string, by = call()): Promise<ConfigMap> {
  const object = { metadata: { namespace: 'default', name }, data: { of: name } };
  const request = encodeMessage('berth.core.v1.ConfigMapWriteRequest', { object });
  const { bytes } = await verbs.write(readWriteRequest('create', store(), request), by).run();
  return decodeMessage<ConfigMap>(configMap.message, bytes);
}

beforeEach(async () => {
  stopped = new AbortController();
  const storage = createMemoryStorage();
  const log = pino({ level: 'silent' });
  server = createServerRegistry({ log }, storage, new MetricsRegistry());
  verbs = createVerbs();
  authorizer = new Authorizer(server.registry);
  authorizer.observe();
  await new Promise<void>((resolve, reject) => {
    runFeed({ storage, caches: server.caches, log }, resolve, stopped.signal).catch(reject);
  });
  const namespace = encodeMessage('berth.core.v1.NamespaceWriteRequest', { object: { metadata: { name: 'default' } } });
  await verbs.write(readWriteRequest('create', server.registry.store('Namespace'), namespace), call()).run();
});
afterEach(() => stopped.abort());

it('creates, lists and gets without a transport', async () => {
  const names = Array.from({ length: 30 }, (_, i) => `c${String(i).padStart(2, '0')}`);
  for (const name of names) await create(name);
  const page = await verbs.list(store(), { namespace: 'default', options: { limit: 20 } }, storedForm, call()).run();
  const { items = [], metadata } = decodeMessage<ConfigMapList>('berth.core.v1.ConfigMapList', bytesOf(page));
  expect(items.map((each) => each.metadata?.name)).toEqual(names.slice(0, 20));
  const rest = { limit: 20, continue: metadata?.continue ?? '' };
  const next = await verbs.list(store(), { namespace: 'default', options: rest }, storedForm, call()).run();
  expect(decodeMessage<ConfigMapList>('berth.core.v1.ConfigMapList', bytesOf(next)).items).toHaveLength(10);
  const one = await verbs.get(store(), { namespace: 'default', name: 'c07' }, call()).run();
  expect(decodeMessage<ConfigMap>(configMap.message, bytesOf(one)).data).toEqual({ of: 'c07' });
});

it('sends a watch to its sink: what there is, the bookmark, then every change', async () => {
  await create('before');
  const stop = new AbortController();
  const sink = new MemorySink();
  const options = { sendInitialEvents: true, allowWatchBookmarks: true, resourceVersionMatch: 'NotOlderThan' };
  const watch = verbs.watch(store(), { options }, protobufEvents(configMap.message), call({ signal: stop.signal }));
  expect(sink.begun).toBe(false);
  const ended = watch.run(sink);
  await until(() => sink.events.includes('BOOKMARK'));
  await create('after');
  await verbs.delete({ store: store(), delete: { namespace: 'default', name: 'before' } }, call()).run();
  await until(() => sink.events.includes('DELETED before'));
  expect(sink.begun).toBe(true);
  expect(sink.events.filter((event) => event !== 'BOOKMARK')).toEqual(['ADDED before', 'ADDED after', 'DELETED before']);
  stop.abort();
  await ended;
  await create('later');
  expect(sink.events).not.toContain('ADDED later');
});

it('cuts off a sink whose client does not read', async () => {
  verbs = createVerbs({ stallMs: 50, inFlight: 1 });
  const sink = new MemorySink();
  sink.reads = false;
  const ended = verbs.watch(store(), {}, protobufEvents(configMap.message), call()).run(sink);
  const refused = expect(ended).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  await create('a');
  await until(() => sink.events.length > 0);
  await create('b');
  await refused;
  expect(sink.wasCutOff).toBe(true);
  expect(sink.events).toEqual(['ADDED a']);
});

it('refuses a caller without rights before anything runs', async () => {
  const tenant = () => call({ identity: { user: 'anna', groups: [] } });
  const denied = expect.objectContaining({ code: 'PERMISSION_DENIED' });
  await expect(create('a', tenant())).rejects.toEqual(denied);
  expect(() => verbs.list(store(), {}, storedForm, tenant())).toThrow(denied);
  expect(() => verbs.watch(store(), {}, protobufEvents(configMap.message), tenant())).toThrow(denied);
  const gone = verbs.get(store(), { namespace: 'default', name: 'a' }, call());
  await expect((async () => gone.run())()).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
