import type { Logger } from 'pino';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import type { Storage, StorageEvent, StoredPage } from '../storage/storage.ts';
import { StorageError } from '../storage/storage-error.ts';
import type { KindCache } from './kind-cache.ts';
import type { KindCaches } from './kind-caches.ts';

export interface FeedOptions {
  readonly storage: Storage;
  readonly caches: KindCaches;
  readonly log: Logger;
  /** How many revisions before the newest are replayed at the start, so that watches resume across a restart. */
  readonly replayRevisions?: number;
}

/**
 * As many as a ring of events holds. A killed server skips up to 10,000 revisions that were never written: eight such
 * gaps, for a server that is killed over and over before its watchers are back, leave 20 seconds of 1,000 writes/s.
 */
const REPLAY_REVISIONS = 100_000;
const RETRY_MS = 1_000;
/**
 * How many objects are read from the store at a time: a list of all would stand beside the cache that is made of it.
 */
const PAGE_ITEMS = 500;
/** The key of the record that marks every start in the log. */
const START_KEY = 'server/start';

/**
 * Keeps the caches of all kinds up to date from one storage watch, until the signal aborts. `onReady` is called once,
 * when the caches show everything that was stored before the start. A failed watch resumes where it ended and reloads
 * relaxed kinds; one that cannot resume reloads everything, with retries. Rejects when the start fails, or when the
 * store is damaged at the position of the watch, because the caches would never advance.
 */
export async function runFeed(options: FeedOptions, onReady: () => void, signal: AbortSignal): Promise<void> {
  let from = await loadCaches(options, await startRevision(options));
  const target = await writeStartMark(options.storage).catch(async (error: unknown) => {
    options.log.warn({ err: error }, 'the store takes no writes: watches from before this start cannot resume');
    from = await loadCaches(options, undefined);
    return from;
  });
  let ready = false;
  const seen = (revision: number): void => {
    from = revision;
    if (ready || revision < target) return;
    ready = true;
    onReady();
  };
  seen(from);
  // What of the caches may have missed changes.
  let stale: 'nothing' | 'relaxed' | 'all' = 'nothing';
  while (!signal.aborted) {
    const attempt = new AbortController();
    try {
      if (stale === 'all') seen(await loadCaches(options, undefined));
      const events = options.storage.watch({ prefix: '', from }, AbortSignal.any([signal, attempt.signal]));
      // The log has no changes of relaxed kinds to replay. The watch listens already: what changes meanwhile comes
      // twice at worst.
      if (stale !== 'nothing') await loadRelaxed(options);
      stale = 'nothing';
      for await (const batch of events) {
        const { loading } = options.caches;
        if (loading) await loading;
        seen(dispatch(options.caches, batch));
      }
      stale = 'relaxed';
    } catch (error) {
      if (signal.aborted) return;
      const code = error instanceof StorageError ? error.code : undefined;
      if (code === 'corrupt') throw error;
      stale = stale === 'all' || code === 'compacted' ? 'all' : 'relaxed';
      options.log.warn({ err: error, from, stale }, 'the storage watch ended: beginning again');
      await pause(RETRY_MS, signal);
    } finally {
      attempt.abort();
    }
  }
}

/**
 * Begins to feed the caches and resolves when they show what was stored before the start; rejects when they never will.
 * A feed that fails later aborts `failed` with its error. `ended` never rejects.
 */
export async function startFeed(
  options: FeedOptions,
  signal: AbortSignal,
): Promise<{ readonly failed: AbortSignal; readonly ended: Promise<void> }> {
  const failure = new AbortController();
  let ended = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    ended = runFeed(options, resolve, signal).then(
      () => reject(new Error('the store ended while the server started')),
      (error: unknown) => {
        failure.abort(error);
        reject(error);
      },
    );
  });
  return { failed: failure.signal, ended };
}

/** Every cache advances with every batch, so that versions of quiet kinds stay fresh. */
function dispatch(caches: KindCaches, batch: readonly StorageEvent[]): number {
  for (const event of batch) caches.of(event.key)?.apply(event);
  const revision = batch.at(-1)?.revision ?? 0;
  for (const cache of caches) cache.advance(revision);
  return revision;
}

/** The oldest revision worth replaying, or undefined to begin with the present. */
async function startRevision({ storage, replayRevisions = REPLAY_REVISIONS }: FeedOptions): Promise<number | undefined> {
  const newest = (await storage.list('', { limit: 1 })).revision;
  const wanted = newest - replayRevisions;
  const revision = Math.max(wanted, 1);
  if (newest <= 1) return undefined;
  try {
    await storage.list('', { limit: 1, revision });
    return revision;
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== 'compacted') throw error;
    return error.revision !== undefined && error.revision < newest ? error.revision : undefined;
  }
}

/**
 * Fills every cache and answers the revision to watch from. Relaxed kinds have no history and begin with the present.
 */
function loadCaches({ storage, caches }: FeedOptions, revision: number | undefined): Promise<number> {
  return caches.load(async () => {
    const from = revision ?? (await storage.list('', { limit: 1 })).revision;
    for (const cache of caches) {
      const at = revision !== undefined && cache.kind.durability === 'synced' ? { revision } : {};
      await cache.load(pagesOf(storage, keyPrefixOf(cache.kind), at));
    }
    return from;
  });
}

/**
 * Feeds one more cache: fills it while the feed waits, so that it misses no change. Rejects when the store cannot be
 * read; then the cache is not fed.
 */
export function feedKind({ storage, caches }: Pick<FeedOptions, 'storage' | 'caches'>, cache: KindCache): Promise<void> {
  return caches.load(async () => {
    await cache.load(pagesOf(storage, keyPrefixOf(cache.kind), {}));
    caches.add(cache);
  });
}

/** Loads the kinds without a history anew; their watches begin again. */
function loadRelaxed({ storage, caches }: FeedOptions): Promise<void> {
  return caches.load(async () => {
    for (const cache of caches)
      if (cache.kind.durability !== 'synced') await cache.load(pagesOf(storage, keyPrefixOf(cache.kind), {}));
  });
}

/** All pages of a list at one revision (for relaxed kinds at the present, as they have no other). */
async function* pagesOf(storage: Storage, prefix: string, at: { readonly revision?: number }): AsyncGenerator<StoredPage> {
  let page = await storage.list(prefix, { ...at, limit: PAGE_ITEMS });
  yield page;
  while (page.more) {
    page = await storage.list(prefix, { revision: page.revision, limit: PAGE_ITEMS, after: page.items.at(-1)!.key });
    yield page;
  }
}

/** A synced write whose event follows all replayed events, so it marks the end of the replay. */
async function writeStartMark(storage: Storage): Promise<number> {
  const write = {
    kind: 'Start',
    bytes: new Uint8Array(0),
    user: 'system:apiserver',
    manager: 'apiserver',
    durability: 'synced',
    urgent: true,
  } as const;
  const current = await storage.get(START_KEY);
  if (!current) return storage.create(START_KEY, { ...write, verb: 'create' });
  return storage.update(START_KEY, current.revision, { ...write, verb: 'update' });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
