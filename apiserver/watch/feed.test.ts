import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { configMap } from '../../api/kinds/config-map/kind.ts';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import { lease } from '../../api/kinds/lease/kind.ts';
import { createMemoryStorage } from '../storage/memory/memory-storage.ts';
import type { Storage } from '../storage/storage.ts';
import { StorageError } from '../storage/storage-error.ts';
import { startFeed } from './feed.ts';
import { KindCache } from './kind-cache.ts';
import { KindCaches } from './kind-caches.ts';

const leases = keyPrefixOf(lease);
const log = pino({ level: 'silent' });
let storage: Storage;
let stop: AbortController;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  storage = createMemoryStorage();
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  vi.useRealTimers();
  await storage.close();
});

async function create(name: string): Promise<void> {
  const bytes = encodeMessage(configMap.message, { metadata: { name, namespace: 'default' } });
  const by = { user: 'u', manager: 'm', verb: 'create', durability: 'synced' } as const;
  await storage.create(`configmaps/default/${name}`, { kind: 'ConfigMap', bytes, ...by });
}

/** A feed over a storage whose watches and lists fail as `failures` say, in their order. */
async function start(failures: { readonly watch: StorageError[]; readonly list: StorageError[] }) {
  const cache = new KindCache(configMap);
  let breakWatch = (): void => {};
  const [list, watch] = [storage.list.bind(storage), storage.watch.bind(storage)];
  Object.assign(storage, {
    list: (...args: Parameters<Storage['list']>) => {
      const failure = failures.list.shift();
      return failure ? Promise.reject(failure) : list(...args);
    },
    watch: async function* (...[options, signal]: Parameters<Storage['watch']>) {
      const own = new AbortController();
      breakWatch = () => own.abort();
      yield* watch(options, AbortSignal.any([signal, own.signal]));
      const failure = own.signal.aborted ? failures.watch.shift() : undefined;
      if (failure) throw failure;
    },
  });
  const feed = await startFeed({ storage, caches: new KindCaches([cache]), log }, stop.signal);
  return { feed, cache, breakWatch: () => breakWatch() };
}

const namesIn = (cache: KindCache): string[] =>
  cache.range('configmaps/').map(({ key }) => key.slice('configmaps/default/'.length));

test('a watch that cannot resume reloads the caches, and tries that again until it succeeds', async () => {
  const failures = { watch: [new StorageError('compacted', 'too old')], list: [] as StorageError[] };
  const { feed, cache, breakWatch } = await start(failures);
  failures.list.push(new StorageError('failed', 'read the store'), new StorageError('failed', 'read the store'));
  breakWatch();
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1), { timeout: 30_000 });
  await create('unseen');
  for (let left = 3; left > 0; left--) {
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1), { timeout: 30_000 });
    await vi.advanceTimersByTimeAsync(1_000);
  }
  await vi.waitFor(() => expect(namesIn(cache)).toEqual(['unseen']), { timeout: 30_000 });
  await create('after');
  await vi.waitFor(() => expect(namesIn(cache)).toEqual(['after', 'unseen']), { timeout: 30_000 });
  expect(failures.list).toEqual([]);
  expect(feed.failed.aborted).toBe(false);
});

test.each([
  ['fails', new StorageError('slow', 'events were left unread')],
  ['ends', undefined],
])('a watch that %s and resumes loads relaxed kinds anew: no log tells what became of them meanwhile', async (_, failure) => {
  const cache = new KindCache(lease);
  const by = { kind: 'Lease', user: 'u', manager: 'm', durability: 'relaxed' } as const;
  const put = (name: string) =>
    storage.create(`${leases}default/${name}`, {
      ...by,
      verb: 'create',
      bytes: encodeMessage(lease.message, { metadata: { name, namespace: 'default' } }),
    });
  const ghost = await put('ghost');
  const watch = storage.watch.bind(storage);
  let watches = 0;
  let end = (): void => {};
  storage.watch = async function* (options, signal) {
    const own = new AbortController();
    end = () => own.abort();
    // Relaxed changes from before a watch are not replayed.
    yield* watch(watches++ === 0 ? options : { prefix: options.prefix }, AbortSignal.any([signal, own.signal]));
    if (!own.signal.aborted) return;
    await storage.delete(`${leases}default/ghost`, ghost, { ...by, verb: 'delete', bytes: new Uint8Array(0) });
    await put('unseen');
    if (failure) throw failure;
  };
  await startFeed({ storage, caches: new KindCaches([cache]), log }, stop.signal);
  const names = () => cache.range(leases).map(({ key }) => key.slice(`${leases}default/`.length));
  expect(names()).toEqual(['ghost']);
  end();
  if (failure) {
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1), { timeout: 30_000 });
    await vi.advanceTimersByTimeAsync(1_000);
  }
  await vi.waitFor(() => expect(names()).toEqual(['unseen']), { timeout: 30_000 });
});

test('a store that is damaged where the watch goes on is told, as the caches would stand still', async () => {
  const damaged = new StorageError('corrupt', 'the log is damaged');
  const { feed, breakWatch } = await start({ watch: [damaged], list: [] });
  expect(feed.failed.aborted).toBe(false);
  breakWatch();
  await feed.ended;
  expect(feed.failed.reason).toBe(damaged);
});
