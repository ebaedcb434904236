import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Event, Timestamp } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { createFakeClock, type FakeClock } from '../../test/fakes/fake-clock.ts';
import { createMemoryStorage } from '../storage/memory/memory-storage.ts';
import type { Storage } from '../storage/storage.ts';
import { runFeed } from '../watch/feed.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { KindCaches } from '../watch/kind-caches.ts';
import { runExpiry } from './expiry.ts';
import { KindStore } from './kind-store.ts';
import { serverContext } from './server-context.ts';

const hour = 3_600_000;
const log = pino({ level: 'silent' });
let clock: FakeClock;
let storage: Storage;
let stop: AbortController;
let running: Promise<unknown>[];

beforeEach(() => {
  clock = createFakeClock(100 * hour);
  storage = createMemoryStorage();
  stop = new AbortController();
  running = [];
});
afterEach(async () => {
  stop.abort();
  await Promise.all(running);
  await storage.close();
});

/** A server's store of events over what is in the storage, with the loop that lets them expire. */
async function start(options: { maxObjects?: number; maxBytes?: number } = {}): Promise<KindStore> {
  const kind = kindNamed('Event');
  const cache = new KindCache(kind);
  const store = new KindStore(cache, { storage, now: () => new Date(clock.now()), random: () => 0, uid: () => 'u' });
  await new Promise<void>((ready) => {
    running.push(runFeed({ storage, caches: new KindCaches([cache]), log }, ready, stop.signal));
  });
  running.push(runExpiry(store, { ...options, clock, log }, stop.signal));
  return store;
}

const at = (name: string) => ({ namespace: 'default', name });
const make = (store: KindStore, name: string, lastTimestamp?: Timestamp) => {
  const event: Event = { metadata: { ...at(name), creationTimestamp: { seconds: clock.now() / 1_000 } } };
  const bytes = store.encode({ ...event, ...(lastTimestamp && { lastTimestamp }) } as Event);
  return store.insert({ at: at(name), bytes }, serverContext);
};
const count = (store: KindStore, name: string, n: number) =>
  store.change(at(name), { context: serverContext, verb: 'patch', compute: (event) => ({ ...event, count: n }) as Event });
const names = async (store: KindStore): Promise<string[]> => {
  await store.fresh();
  return store.cache.range('events/').map(({ key }) => key.slice('events/default/'.length));
};
/** Lets time pass, and what is due be removed. */
async function pass(store: KindStore, ms: number): Promise<string[]> {
  for (let left = ms; left > 0; left -= 30_000) {
    await clock.advance(Math.min(left, 30_000));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return names(store);
}

describe('events', () => {
  it('go an hour after they were last written, whatever times they name', async () => {
    const store = await start();
    await make(store, 'a', { seconds: 1 });
    await make(store, 'future', { seconds: 9_000_000_000 });
    await pass(store, hour / 2);
    await make(store, 'b');
    expect(await pass(store, hour / 2 - 60_000)).toEqual(['a', 'b', 'future']);
    expect(await pass(store, 120_000)).toEqual(['b']);
    expect(await pass(store, hour / 2)).toEqual([]);
  });

  it('live on when they are counted again', async () => {
    const store = await start();
    await make(store, 'a');
    for (let n = 2; n < 6; n++) {
      await pass(store, hour / 2);
      await count(store, 'a', n);
    }
    expect(await pass(store, hour - 60_000)).toEqual(['a']);
    expect(await pass(store, 120_000)).toEqual([]);
  });

  it('go when their hour is over also if the server was started again meanwhile', async () => {
    await make(await start(), 'a');
    await make(await start(), 'recent', { seconds: (clock.now() + hour / 2) / 1_000 });
    stop.abort();
    await Promise.all(running);
    stop = new AbortController();
    await clock.advance(hour * 0.75);
    const store = await start();
    expect(await pass(store, hour / 4 + 60_000)).toEqual(['recent']);
    expect(await pass(store, hour / 2)).toEqual([]);
  });

  it('are so many at most; the oldest go first', async () => {
    const store = await start({ maxObjects: 3 });
    for (const name of ['e', 'd', 'c', 'b', 'a']) await make(store, name);
    await count(store, 'e', 2);
    expect(await pass(store, 60_000)).toEqual(['a', 'b', 'e']);
  });

  it('hold so many bytes at most; the oldest go first', async () => {
    const store = await start({ maxBytes: 50 });
    for (const name of ['a', 'b', 'c', 'd']) await make(store, name);
    await store.fresh();
    const each = store.cache.bytes / 4;
    expect(each).toBeGreaterThan(20);
    const left = await pass(store, 60_000);
    expect(left).toEqual(['a', 'b', 'c', 'd'].slice(-Math.floor(50 / each)));
    expect(left.length).toBeLessThan(4);
  });

  it('leave the disk alone while none of them is due', async () => {
    const store = await start();
    await make(store, 'a');
    const { revision } = await storage.list('');
    await pass(store, hour - 60_000);
    expect((await storage.list('')).revision).toBe(revision);
  });
});
