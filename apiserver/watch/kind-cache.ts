import type { Logger } from 'pino';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { StorageEvent, StoredObject, StoredPage } from '../storage/storage.ts';
import { type Entry, EntryDecoder, makeEntry, makeExpiringEntry } from './entry.ts';
import { EntryTable } from './entry-table.ts';
import { type BatchClock, EventBatcher, systemBatchClock } from './event-batcher.ts';
import { type CacheEvent, EventRing, type RingBounds, ringBoundsOf } from './event-ring.ts';
import { pastRange } from './past-range.ts';
import { SharedFrames } from './shared-frames.ts';
import { TouchIndex } from './touch-index.ts';

export interface KindCacheOptions {
  readonly bounds?: Partial<RingBounds>;
  readonly clock?: BatchClock;
  /** Hears of objects that an observer cannot deal with. */
  readonly log?: Logger;
}

/**
 * Sees every event, in order, while it is applied; must be short. What it throws is logged. `reset` comes first and
 * after every reload.
 */
export interface CacheObserver {
  reset(entries: Iterable<Entry>): void;
  event(event: CacheEvent): void;
}

interface Waiter {
  readonly revision: number;
  done(reached: boolean): void;
}

/** Of more that cannot be read each observer's stumbling is logged: nothing grows without a bound. */
const mostPassedOver = 1_000;

/**
 * The current objects of one kind and its latest changes, in memory, encoded once and shared by every reader. Fed by
 * one storage watch (feed.ts); no other module changes it. `revision` is how far the feed has come in the whole store,
 * not only in this kind.
 */
export class KindCache {
  readonly kind: Kind;
  readonly decoder: EntryDecoder;
  readonly ring: EventRing;
  readonly batcher: EventBatcher;
  readonly frames: SharedFrames;
  readonly touched: TouchIndex;
  private readonly clock: BatchClock;
  private readonly log: Logger | undefined;
  private readonly observers = new Set<CacheObserver>();
  private readonly waiters = new Set<Waiter>();
  /** Keys that were logged as they are now: every observer stumbles over the same object. */
  private readonly passedOver = new Set<string>();
  private table = new EntryTable();
  private at = 0;

  constructor(kind: Kind, options: KindCacheOptions = {}) {
    this.kind = kind;
    this.clock = options.clock ?? systemBatchClock;
    this.log = options.log;
    this.decoder = new EntryDecoder(kind);
    this.frames = new SharedFrames(() => this.clock.now());
    this.ring = new EventRing({ ...ringBoundsOf(kind), ...options.bounds }, 0);
    this.batcher = new EventBatcher(this.clock);
    this.touched = new TouchIndex(this.ring, this.decoder);
  }

  get revision(): number {
    return this.at;
  }

  get size(): number {
    return this.table.size;
  }

  /** Bytes of the present objects. */
  get bytes(): number {
    return this.table.bytes;
  }

  private get expires(): boolean {
    return this.kind.expiresAfter !== undefined;
  }

  now(): number {
    return this.clock.now();
  }

  get(key: string): Entry | undefined {
    return this.table.get(key);
  }

  /** The objects with a key prefix, behind `after`, in key order: a snapshot that later changes do not touch. */
  range(prefix: string, after?: string): readonly Entry[] {
    return this.table.range(prefix, after);
  }

  /** The same as it was at a revision that the feed has reached; undefined when the ring does not reach back so far. */
  rangeAt(prefix: string, revision: number, after: string): readonly Entry[] | undefined {
    return pastRange(this.ring, this.range(prefix, after || undefined), { prefix, revision, after });
  }

  /** The last revision that changed this kind, as far as the ring reaches. */
  lastChange(): number {
    return this.ring.at(this.ring.endSequence - 1)?.revision ?? this.ring.startRevision;
  }

  /** Starts afresh from a list; watches from before it are expired. */
  reset(items: readonly StoredObject[], revision: number): void {
    const next = new EntryTable();
    next.fill(items, this.expires);
    this.replace(next, revision);
  }

  /**
   * Starts afresh from the pages of a list, so that no more than one of them is held besides what is kept; readers see
   * the old state until all are there. Gives the revision that the pages show.
   */
  async load(pages: AsyncIterable<StoredPage>): Promise<number> {
    const next = new EntryTable();
    let revision = 0;
    for await (const page of pages) {
      next.fill(page.items, this.expires);
      revision = page.revision;
    }
    this.replace(next, revision);
    return revision;
  }

  private replace(next: EntryTable, revision: number): void {
    this.table = next;
    this.passedOver.clear();
    this.frames.clear();
    this.ring.reset(revision);
    for (const observer of this.observers) this.resetObserver(observer);
    this.at = 0;
    this.advance(revision);
    this.batcher.request();
  }

  /** Applies one change. What the cache already shows is ignored. */
  apply(change: StorageEvent): void {
    if (change.revision <= this.at) return;
    this.passedOver.delete(change.key);
    const previous = this.table.get(change.key);
    let event: CacheEvent;
    const atMs = this.clock.now();
    if (change.type === 'put') {
      const entry = this.expires ? makeExpiringEntry(change) : makeEntry(change.key, change.bytes, change.revision, change.memo);
      this.table.set(entry);
      event = { type: previous ? 'MODIFIED' : 'ADDED', revision: change.revision, entry, previous, atMs };
    } else {
      this.table.delete(change.key);
      const entry = makeEntry(change.key, change.bytes, change.revision, change.memo);
      event = { type: 'DELETED', revision: change.revision, entry, previous, atMs };
    }
    this.ring.push(event);
    this.attempt(change.key, () => this.touched.note(event));
    for (const observer of this.observers) this.attempt(change.key, () => observer.event(event));
    this.batcher.request();
  }

  /** Says that everything up to a revision was applied. */
  advance(revision: number): void {
    if (revision <= this.at) return;
    this.at = revision;
    // A kind that rests would hold the events of its last storm for ever.
    this.ring.trim(this.clock.now());
    this.frames.forgetOld();
    for (const waiter of this.waiters) if (waiter.revision <= revision) waiter.done(true);
  }

  /** Observes from now on, after a `reset` with the present entries. */
  observe(observer: CacheObserver): () => void {
    this.resetObserver(observer);
    this.observers.add(observer);
    return () => this.observers.delete(observer);
  }

  /**
   * Looks at one object for an observer. One that cannot be read is logged, once for all observers, and passed over, so
   * that it stops nothing else.
   */
  attempt<T>(key: string, look: () => T): T | undefined {
    try {
      return look();
    } catch (error) {
      if (!this.passedOver.has(key)) this.log?.error({ err: error, key }, 'cannot read a stored object: passing it over');
      if (this.passedOver.size < mostPassedOver && !key.endsWith('/')) this.passedOver.add(key);
      return undefined;
    }
  }

  private resetObserver(observer: CacheObserver): void {
    this.attempt(keyPrefixOf(this.kind), () => observer.reset(this.table.values()));
  }

  /** Resolves with true once the cache shows a revision, with false when it does not in time. */
  reached(revision: number, timeoutMs: number): Promise<boolean> {
    if (this.at >= revision) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        revision,
        done: (reached) => {
          clearTimeout(timer);
          this.waiters.delete(waiter);
          resolve(reached);
        },
      };
      const timer = setTimeout(() => waiter.done(false), timeoutMs);
      this.waiters.add(waiter);
    });
  }
}
