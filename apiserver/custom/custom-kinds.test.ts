import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { messageFromJson } from '../../api/codec/json.ts';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { openMessage } from '../../api/codec/open-message.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { createServerRegistry, type ServerRegistry } from '../server-registry.ts';
import { maxObjectBytes } from '../storage/checks.ts';
import { createMemoryStorage } from '../storage/memory/memory-storage.ts';
import type { Storage } from '../storage/storage.ts';
import { runFeed } from '../watch/feed.ts';
import { CustomKinds, type CustomKindsOptions } from './custom-kinds.ts';
import { EMPTY_BATCH } from './empty-kind.ts';

const crd = kindNamed('CustomResourceDefinition');
const log = pino({ level: 'silent' });
const name = 'crontabs.stable.example.com';
const objects = EMPTY_BATCH + 20;

let storage: Storage;
let server: ServerRegistry;
let stopping: AbortController;

const definition = (metadata: JsonObject): JsonObject => ({
  metadata: { name, uid: 'u', ...metadata },
  spec: {
    group: 'stable.example.com',
    scope: 'Namespaced',
    names: { plural: 'crontabs', singular: 'crontab', kind: 'CronTab', listKind: 'CronTabList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
  status: { conditions: [{ type: 'Established', status: 'True' }] },
});
const halfDeleted = definition({
  deletionTimestamp: '2026-01-01T00:00:00Z',
  finalizers: ['customresourcecleanup.apiextensions.k8s.io'],
});

async function put(key: string, kind: string, bytes: Uint8Array): Promise<void> {
  await storage.create(key, { kind, bytes, user: 'u', manager: 'm', verb: 'create', durability: 'synced' });
}

const definitionKey = `${crd.plural}.apiextensions.k8s.io/${name}`;
const bytesOf = (json: JsonObject): Uint8Array => encodeMessage(crd.message, messageFromJson(crd.message, json));
const putDefinition = (json: JsonObject): Promise<void> => put(definitionKey, crd.kind, bytesOf(json));

async function changeDefinition(json: JsonObject): Promise<void> {
  const { revision } = (await storage.get(definitionKey))!;
  const write = { kind: crd.kind, bytes: bytesOf(json), user: 'u', manager: 'm', verb: 'update', durability: 'synced' } as const;
  await storage.update(definitionKey, revision, write);
}

async function start(more: Partial<CustomKindsOptions> = {}): Promise<() => Promise<void>> {
  const metrics = new MetricsRegistry();
  server = createServerRegistry({ log }, storage, metrics);
  await new Promise<void>((resolve, reject) => {
    runFeed({ storage, caches: server.caches, log }, resolve, stopping.signal).catch(reject);
  });
  const { registry, addKind, removeKind } = server;
  const targetOf = server.webhookTargets.of;
  const options = { registry, log, now: () => new Date(0), targetOf, addKind, removeKind, metrics, ...more };
  return new CustomKinds(options).begin(stopping.signal);
}

const store = () => server.registry.stores.get('CronTab.stable.example.com');
const left = async (): Promise<number> => (await storage.list('crontabs.stable.example.com/', {})).items.length;

beforeEach(() => {
  storage = createMemoryStorage();
  stopping = new AbortController();
});
afterEach(() => stopping.abort());

describe('a kind that was being deleted when the server stopped', () => {
  beforeEach(async () => {
    await putDefinition(halfDeleted);
    for (let i = 0; i < objects; i++) {
      const metadata = { namespace: 'default', name: `c${String(i).padStart(4, '0')}` };
      await put(`crontabs.stable.example.com/default/${metadata.name}`, 'CronTab', encodeMessage(openMessage, { metadata }));
    }
  });

  it('is served at once with all its objects, which go in the background, and its definition after them', async () => {
    const run = await start();
    expect(store()?.cache.size).toBe(objects);
    expect(await left()).toBe(objects);
    const ended = run();
    const definitions = server.registry.store('CustomResourceDefinition');
    await expect.poll(() => definitions.cache.size, { interval: 5, timeout: 10_000 }).toBe(0);
    expect(await left()).toBe(0);
    await expect.poll(store, { interval: 5 }).toBeUndefined();
    stopping.abort();
    await ended;
  });

  it('keeps the objects of later batches when the server stops during one', async () => {
    const run = await start();
    const { cache } = store()!;
    let gone = 0;
    cache.observe({
      reset: () => {},
      event: ({ type }) => {
        if (type === 'DELETED' && ++gone === 1) stopping.abort();
      },
    });
    await run();
    expect(await left()).toBe(objects - EMPTY_BATCH);
  });
});

describe('a new definition', () => {
  it('is served and established by one write of its status, which waits for no clock', async () => {
    const waits: number[] = [];
    const after = (ms: number) => {
      waits.push(ms);
      return () => {};
    };
    const run = await start({ clock: { now: () => 0, after } });
    const ended = run();
    await putDefinition({ ...definition({}), status: {} });
    const { cache } = server.registry.store('CustomResourceDefinition');
    await expect.poll(() => cache.size, { interval: 1 }).toBe(1);
    const { revision } = (await storage.get(definitionKey))!;
    await server.registry.stores.settled();
    expect(store()).toBeDefined();
    const stored = (await storage.get(definitionKey))!;
    expect(decodeMessage(crd.message, stored.bytes)).toMatchObject({
      status: { conditions: expect.arrayContaining([expect.objectContaining({ type: 'Established', status: 'True' })]) },
    });
    expect(stored.revision - revision).toBeLessThanOrEqual(1);
    // The bound of the wait for it alone.
    expect(waits).toEqual([10_000]);
    stopping.abort();
    await ended;
  });
});

describe('a definition that takes long to be served', () => {
  it('keeps discovery waiting for ten seconds and no longer', async () => {
    const timers: { readonly ms: number; readonly callback: () => void }[] = [];
    const clock = {
      now: () => 0,
      after(ms: number, callback: () => void) {
        timers.push({ ms, callback });
        return () => {};
      },
    };
    let letGo = () => {};
    const isHeld = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const run = await start({ clock, addKind: () => isHeld });
    const ended = run();
    await putDefinition(definition({}));
    const { cache } = server.registry.store('CustomResourceDefinition');
    await expect.poll(() => cache.size, { interval: 1 }).toBe(1);
    let isOver = false;
    const over = server.registry.stores.settled().then(() => {
      isOver = true;
    });
    await expect.poll(() => timers.length, { interval: 1 }).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect([timers[0]?.ms, isOver]).toEqual([10_000, false]);
    timers[0]!.callback();
    await over;
    expect(store()).toBeUndefined();
    stopping.abort();
    letGo();
    await ended;
  });
});

describe('a kind that cannot be served', () => {
  it('is tried again after waits that double up to a minute, and not after the server has stopped', async () => {
    await putDefinition(definition({}));
    const waits: number[] = [];
    const waiting = new Set<() => void>();
    const clock = {
      now: () => 0,
      after(ms: number, callback: () => void) {
        waits.push(ms);
        waiting.add(callback);
        return () => waiting.delete(callback);
      },
    };
    const run = await start({ clock, addKind: () => Promise.reject(new Error('no room')) });
    const ended = run();
    for (let i = 1; i < 8; i++) {
      for (const callback of waiting) callback();
      await expect.poll(() => waits.length, { interval: 1 }).toBe(i + 1);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(waiting.size).toBe(1);
    stopping.abort();
    await ended;
    expect(waiting.size).toBe(0);
  });
});

/** As the store has it. */
const storedColor = async (key: string): Promise<unknown> => {
  const stored = await storage.get(`crontabs.stable.example.com/default/${key}`);
  return (decodeMessage(openMessage, stored!.bytes) as { color?: unknown }).color;
};
const putObject = (object: string, more: JsonObject = {}): Promise<void> =>
  put(
    `crontabs.stable.example.com/default/${object}`,
    'CronTab',
    encodeMessage(openMessage, { metadata: { namespace: 'default', name: object }, ...more }),
  );

/** The definition with a default of `color`. */
const withDefault = (): JsonObject => {
  const json = definition({}) as { spec: { versions: { schema: JsonObject }[] } };
  const properties = { color: { type: 'string', default: 'blue' } };
  const schema = { type: 'object', properties, 'x-kubernetes-preserve-unknown-fields': true };
  json.spec.versions[0]!.schema = { openAPIV3Schema: schema };
  return json as unknown as JsonObject;
};
/** Ends a run. */
const end = async (ended: Promise<void>): Promise<void> => {
  stopping.abort();
  await ended;
};

describe('a kind whose schema got a default before the server stopped', () => {
  it('has it written into the objects that are older than the definition', async () => {
    for (let i = 0; i < objects; i++) await putObject(`c${String(i).padStart(4, '0')}`);
    await putObject('own', { color: 'red' });
    await putDefinition(withDefault());

    const ended = (await start())();
    const last = `c${String(objects - 1).padStart(4, '0')}`;
    await expect.poll(() => storedColor(last), { interval: 5, timeout: 10_000 }).toBe('blue');
    expect(await Promise.all(['c0000', 'own'].map(storedColor))).toEqual(['blue', 'red']);
    await end(ended);
  });

  it('has none written into an object that it would make too large, and goes on with the others', async () => {
    const size = encodeMessage(openMessage, { metadata: { namespace: 'default', name: 'a' }, blob: '' }).length;
    // A few bytes are left: the lengths of long texts take more.
    await putObject('a', { blob: 'x'.repeat(maxObjectBytes - size - 8) });
    await putObject('b');
    await putDefinition(withDefault());
    const ended = (await start())();
    await expect.poll(() => storedColor('b'), { interval: 5 }).toBe('blue');
    expect(await storedColor('a')).toBeUndefined();
    await end(ended);
  });

  it('writes no more of them once the server stops', async () => {
    for (let i = 0; i < 3; i++) await putObject(`c${i}`);
    await putDefinition(withDefault());
    const run = await start();
    store()!.cache.observe({ reset: () => {}, event: () => stopping.abort() });
    await run();
    expect(await Promise.all(['c0', 'c1', 'c2'].map(storedColor))).toEqual(['blue', undefined, undefined]);
  });
});

describe('a kind whose objects are not converted by a webhook any more', () => {
  it('has the defaults of its schema written into them', async () => {
    const json = withDefault() as { spec: JsonObject };
    const webhook = { clientConfig: { url: 'https://127.0.0.1:1/' }, conversionReviewVersions: ['v1'] };
    const spec = { ...json.spec, conversion: { strategy: 'Webhook', webhook } };
    await putDefinition({ ...json, spec });
    await putObject('before');
    const ended = (await start())();
    const isAttendedTo = async () => Buffer.from((await storage.get(definitionKey))!.bytes).includes('berth.io/InUse');
    await expect.poll(isAttendedTo, { interval: 5 }).toBe(true);
    expect(await storedColor('before')).toBeUndefined();
    await changeDefinition(withDefault());
    await expect.poll(() => storedColor('before'), { interval: 5 }).toBe('blue');
    await end(ended);
  });
});

describe('a kind whose schema gets its first default while the server runs', () => {
  it('has it written into an object, too, that was made before the server knew of the default', async () => {
    await putDefinition(definition({}));
    await putObject('before');
    const run = await start();
    await changeDefinition(withDefault());
    await putObject('between');
    const ended = run();
    await expect.poll(() => storedColor('between'), { interval: 5 }).toBe('blue');
    expect(await storedColor('before')).toBe('blue');
    await end(ended);
  });
});
