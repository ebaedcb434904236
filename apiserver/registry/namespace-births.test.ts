import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import { namespace } from '../../api/kinds/namespace/kind.ts';
import { createMemoryStorage } from '../storage/memory/memory-storage.ts';
import type { Storage } from '../storage/storage.ts';
import { startFeed } from '../watch/feed.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { KindCaches } from '../watch/kind-caches.ts';
import { NamespaceBirths } from './namespace-births.ts';

const key = `${keyPrefixOf(namespace)}team`;
const by = { kind: 'Namespace', user: 'u', manager: 'm', durability: 'synced' } as const;
const bytes = encodeMessage(namespace.message, { metadata: { name: 'team' } });
let storage: Storage;
let stop: AbortController;
let cache: KindCache;
beforeEach(async () => {
  storage = createMemoryStorage();
  stop = new AbortController();
  cache = new KindCache(namespace);
  await startFeed({ storage, caches: new KindCaches([cache]), log: pino({ level: 'silent' }) }, stop.signal);
});
afterEach(async () => {
  stop.abort();
  await storage.close();
});

/** Once the cache shows it. */
async function shown(write: Promise<number>): Promise<number> {
  const revision = await write;
  await vi.waitFor(() => expect(cache.revision).toBeGreaterThanOrEqual(revision), { timeout: 30_000 });
  return revision;
}
const create = () => shown(storage.create(key, { ...by, verb: 'create', bytes }));
const update = (from: number) => shown(storage.update(key, from, { ...by, verb: 'update', bytes }));
const remove = (from: number) => shown(storage.delete(key, from, { ...by, verb: 'delete', bytes: new Uint8Array(0) }));

it('a namespace exists since its creation; one that was deleted has no past, and one of its name begins anew', async () => {
  const births = new NamespaceBirths(cache, storage);
  expect(await births.of('team')).toBe(Number.POSITIVE_INFINITY);
  const first = await create();
  expect(await births.of('team')).toBe(first);
  const changed = await update(first);
  expect(await births.of('team')).toBe(first);
  await remove(changed);
  expect(await births.of('team')).toBe(Number.POSITIVE_INFINITY);
  const second = await create();
  expect(await births.of('team')).toBe(second);
});

it('the creation of a namespace that is older than the process is found in the history, not the one before', async () => {
  await remove(await create());
  const second = await create();
  const changed = await update(second);
  expect(changed).toBeGreaterThan(second);
  expect(await new NamespaceBirths(cache, storage).of('team')).toBe(second);
});
