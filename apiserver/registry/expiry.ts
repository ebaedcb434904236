import type { Logger } from 'pino';
import { isConflict, isNotFound } from '../../api/errors/index.ts';
import { toMillis } from '../../api/meta/time.ts';
import { pause, type StorageClock, systemStorageClock } from '../storage/clock.ts';
import { type Entry, placeOf, sizeOfEntry } from '../watch/entry.ts';
import type { KindStore } from './kind-store.ts';
import { serverContext } from './server-context.ts';

export interface ExpiryOptions {
  /** How long an object stays after its last write. */
  readonly ttlMs?: number | undefined;
  /** How many are kept at most; the ones written longest ago go first. */
  readonly maxObjects?: number;
  /** The bytes of all, encoded, that are kept at most; likewise. */
  readonly maxBytes?: number;
  readonly clock?: StorageClock;
  readonly log: Logger;
}

/** Kubernetes' figure for events. */
const defaultTtlMs = 3_600_000;
/** Some hundred MB at the most, for events of about 1 KB. */
const defaultMaxObjects = 100_000;
/** They stand beside the objects of namespaces, whose bounds do not count them everywhere. */
const defaultMaxBytes = 512 * 1024 * 1024;
/**
 * Deletions of so long go together: relaxed ones then reach the disk with one commit, and no more often than others do
 * anyway.
 */
const longestRoundMs = 30_000;
/** Others get their turn between so many deletions. */
const batch = 64;

interface Written {
  readonly key: string;
  readonly revision: number;
  readonly at: number;
}

/**
 * Removes the objects of a kind that were not written for a while (and the oldest of too many), until the signal
 * aborts. For those that this server saw being written that time counts; for those that it found at its start, the
 * times that stand in them, so that a restart prolongs no life.
 */
export async function runExpiry(store: KindStore, options: ExpiryOptions, signal: AbortSignal): Promise<void> {
  const {
    ttlMs = defaultTtlMs,
    maxObjects = defaultMaxObjects,
    maxBytes = defaultMaxBytes,
    clock = systemStorageClock,
    log,
  } = options;
  const queue = new WrittenQueue(store, clock);
  const leave = store.cache.observe(queue);
  try {
    while (!signal.aborted) {
      await pause(Math.min(longestRoundMs, Math.max(ttlMs / 20, 10)), clock, signal);
      try {
        await removeDue(store, queue.due(clock.now() - ttlMs, maxObjects, maxBytes), signal);
      } catch (error) {
        log.warn({ err: error, kind: store.kind.kind }, 'cannot remove what has expired: trying again');
      }
    }
  } finally {
    leave();
  }
}

/** The same for every kind with expiring objects. */
export function runExpiries(stores: Iterable<KindStore>, options: ExpiryOptions, signal: AbortSignal): Promise<void>[] {
  return [...stores].filter(({ kind }) => kind.expiresAfter).map((store) => runExpiry(store, options, signal));
}

/** The writes of a kind in their order; what was written again since is passed over. */
class WrittenQueue {
  readonly #store: KindStore;
  readonly #clock: StorageClock;
  #writes: Written[] = [];

  constructor(store: KindStore, clock: StorageClock) {
    this.#store = store;
    this.#clock = clock;
  }

  reset(entries: Iterable<Entry>): void {
    const now = this.#clock.now();
    const written = (entry: Entry): Written[] => {
      const { key, revision } = entry;
      const seenAt = this.#store.cache.attempt(key, () => this.#seenAt(entry));
      return seenAt === undefined ? [] : [{ key, revision, at: Math.min(seenAt, now) }];
    };
    this.#writes = [...entries].flatMap(written).sort((a, b) => a.at - b.at);
  }

  event({ type, entry: { key, revision } }: { readonly type: string; readonly entry: Entry }): void {
    if (type === 'DELETED') return;
    this.#writes.push({ key, revision, at: this.#clock.now() });
    if (this.#writes.length > 2 * this.#store.cache.size + 1_000) this.#dropOld();
  }

  /** What was last written before `before`, and the oldest of what is more than `most` objects or `mostBytes`. */
  due(before: number, most: number, mostBytes: number): Written[] {
    this.#dropOld();
    const { cache } = this.#store;
    const tooMany = this.#writes.length - most;
    let tooLarge = cache.bytes - mostBytes;
    return this.#writes.filter(({ key, at }, i) => {
      if (at > before && i >= tooMany && tooLarge <= 0) return false;
      const entry = cache.get(key);
      if (entry) tooLarge -= sizeOfEntry(entry);
      return true;
    });
  }

  #dropOld(): void {
    this.#writes = this.#writes.filter(({ key, revision }) => this.#store.cache.get(key)?.revision === revision);
  }

  #seenAt(entry: Entry): number {
    const object = this.#store.cache.decoder.decode(entry);
    const times = [object.metadata?.creationTimestamp, this.#store.kind.expiresAfter?.(object)];
    return Math.max(...times.map((time) => (time ? toMillis(time) : 0)));
  }
}

async function removeDue(store: KindStore, due: readonly Written[], signal: AbortSignal): Promise<void> {
  for (let i = 0; i < due.length && !signal.aborted; i += batch)
    await Promise.all(due.slice(i, i + batch).map((written) => remove(store, written)));
}

async function remove(store: KindStore, { key, revision }: Written): Promise<void> {
  const change = { context: serverContext, verb: 'delete', resourceVersion: String(revision), compute: () => 'remove' as const };
  try {
    await store.change(placeOf(key), change);
  } catch (error) {
    // Written again, or gone already.
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
