import {
  alreadyExists,
  checkKey,
  checkRevision,
  checkWrite,
  closed,
  defaultMaxHistoryBytes,
  forgotten,
  listStart,
  mismatch,
  notFound,
  prefixEnd,
  revisionRefusal,
  wrongDurability,
} from '../checks.ts';
import { type StorageClock, systemStorageClock } from '../clock.ts';
import { SortedKeys } from '../sorted-keys.ts';
import type { Durability, ListOptions, Storage, StorageEvent, StoredObject, StoredPage, Write } from '../storage.ts';
import type { KeptWrites, Moment, StorageHistory } from '../storage-history.ts';
import { createWatcherHub, defaultWatcherLimits, readWatch, type WatcherLimits } from '../watchers.ts';

export interface MemoryStorageOptions {
  readonly watcherLimits?: WatcherLimits;
  readonly clock?: StorageClock;
  /** History is compacted early when it holds so many bytes. */
  readonly maxHistoryBytes?: number;
}

/** An event with who wrote it, and where the write of the key before it stands. */
export interface Version extends StorageEvent, Pick<Write, 'verb' | 'user' | 'manager'> {
  readonly previous: number;
  readonly time: number;
}

/** The kept versions of one key, oldest first; the last is the newest. Relaxed keys keep one. */
type Versions = Version[];

/** The contract of Storage without a disk: for tests, and the model that the other backends are compared with. */
export function createMemoryStorage(options: MemoryStorageOptions = {}): Storage {
  return new MemoryStorage(options);
}

class MemoryStorage implements Storage {
  readonly #versions = new Map<string, Versions>();
  readonly #keys = new SortedKeys();
  readonly #hub;
  /** Synced events in revision order; those up to `#compacted` are gone. */
  #log: Version[] = [];
  #revision = 0;
  #compacted = 0;
  /** When the newest forgotten write was accepted. */
  #compactedAt = 0;
  #historyBytes = 0;
  #closed = false;
  readonly #clock: StorageClock;
  readonly #maxHistoryBytes: number;
  readonly history: StorageHistory = {
    writes: async (key, options) => {
      this.#checkOpen();
      return this.#writes(key, options);
    },
    at: async (time) => {
      this.#checkOpen();
      const found = this.#log.findLast((version) => version.time <= time);
      if (found) return momentOf(found);
      return time >= this.#compactedAt ? this.#compactedMoment() : undefined;
    },
    of: async (revision) => {
      this.#checkOpen();
      if (revision < this.#compacted) return undefined;
      const found = this.#log.findLast((version) => version.revision <= revision);
      return found ? momentOf(found) : this.#compactedMoment();
    },
    beginning: async () => {
      this.#checkOpen();
      return this.#compactedMoment() ?? (this.#log[0] && momentOf(this.#log[0]));
    },
  };

  constructor({
    watcherLimits = defaultWatcherLimits,
    clock = systemStorageClock,
    maxHistoryBytes = defaultMaxHistoryBytes,
  }: MemoryStorageOptions) {
    this.#hub = createWatcherHub(watcherLimits);
    this.#clock = clock;
    this.#maxHistoryBytes = maxHistoryBytes;
  }

  async create(key: string, write: Write): Promise<number> {
    this.#checkOpen();
    checkWrite(key, write);
    const current = this.#current(key);
    if (current) throw alreadyExists(key, current.revision);
    if (this.#versions.has(key) && write.durability === 'relaxed') throw wrongDurability(key);
    return this.#append('put', key, write);
  }

  async get(key: string): Promise<StoredObject | undefined> {
    this.#checkOpen();
    checkKey(key);
    const current = this.#current(key);
    return current && { key, bytes: current.bytes, revision: current.revision };
  }

  async list(prefix: string, options: ListOptions = {}): Promise<StoredPage> {
    this.#checkOpen();
    const revision = options.revision || this.#revision;
    checkRevision(`list ${prefix} at`, revision, this.#compacted, this.#revision);
    const limit = options.limit || Number.POSITIVE_INFINITY;
    const items: StoredObject[] = [];
    for (const key of this.#keys.between(listStart(prefix, options), prefixEnd(prefix))) {
      const version = versionAt(this.#versions.get(key)!, revision);
      if (version?.type !== 'put') continue;
      if (items.length === limit) return { items, revision, more: true };
      items.push({ key, bytes: version.bytes, revision: version.revision });
    }
    return { items, revision, more: false };
  }

  async update(key: string, expected: number, write: Write): Promise<number> {
    this.#checkOpen();
    checkWrite(key, write);
    this.#checkCurrent('update', key, expected, write.durability);
    return this.#append('put', key, write);
  }

  async delete(key: string, expected: number, write: Write): Promise<number> {
    this.#checkOpen();
    checkWrite(key, write);
    this.#checkCurrent('delete', key, expected, write.durability);
    return this.#append('delete', key, write);
  }

  watch(
    options: { readonly prefix: string; readonly from?: number },
    signal: AbortSignal,
  ): AsyncIterable<readonly StorageEvent[]> {
    this.#checkOpen();
    const from = options.from ?? this.#revision;
    const refusal = revisionRefusal(`watch ${options.prefix} from`, from, this.#compacted, this.#revision);
    const history = refusal ? [] : [this.#history(options.prefix, from, this.#revision)];
    return readWatch({ subscription: this.#hub.subscribe(options.prefix, signal), history, refusal, signal });
  }

  async compact(revision: number): Promise<void> {
    this.#checkOpen();
    const target = Math.min(revision, this.#revision);
    if (target <= this.#compacted) return;
    this.#compacted = target;
    this.#compactedAt = this.#log.findLast((event) => event.revision <= target)?.time ?? this.#compactedAt;
    this.#log = this.#log.filter((event) => event.revision > target);
    for (const [key, versions] of this.#versions) {
      const keep = versions.findLastIndex((version) => version.revision <= target);
      if (keep < 0) continue;
      versions.splice(0, versions[keep]!.type === 'delete' ? keep + 1 : keep);
      if (versions.length === 0) this.#forget(key);
    }
    this.#historyBytes = 0;
    for (const versions of this.#versions.values())
      for (const version of versions)
        if (version !== versions.at(-1) || version.type === 'delete') this.#historyBytes += version.bytes.length;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#hub.close();
  }

  #checkOpen(): void {
    if (this.#closed) throw closed();
  }

  #current(key: string): Version | undefined {
    const newest = this.#versions.get(key)?.at(-1);
    return newest?.type === 'put' ? newest : undefined;
  }

  #checkCurrent(verb: string, key: string, expected: number, durability: Durability): void {
    const current = this.#current(key);
    if (!current) throw notFound(verb, key);
    if (current.revision !== expected) throw mismatch(verb, key, expected, current.revision);
    if (current.durability !== durability) throw wrongDurability(key);
  }

  #append(type: 'put' | 'delete', key: string, write: Write): number {
    const { durability, verb, user, manager } = write;
    const event: Version = {
      type,
      key,
      revision: ++this.#revision,
      previous: durability === 'synced' ? (this.#versions.get(key)?.at(-1)?.revision ?? 0) : 0,
      time: Math.trunc(this.#clock.now()),
      bytes: Uint8Array.from(write.bytes),
      durability,
      verb,
      user,
      manager,
    };
    if (event.durability === 'synced') this.#keepVersion(event);
    else if (type === 'delete') this.#forget(key);
    else this.#replaceVersion(event);
    this.#hub.publish([event]);
    if (this.#historyBytes > this.#maxHistoryBytes) this.#forgetHalf();
    return event.revision;
  }

  #keepVersion(event: Version): void {
    const versions = this.#versions.get(event.key);
    const replaced = versions?.at(-1);
    if (replaced?.type === 'put') this.#historyBytes += replaced.bytes.length;
    if (event.type === 'delete') this.#historyBytes += event.bytes.length;
    if (versions) versions.push(event);
    else this.#replaceVersion(event);
    this.#log.push(event);
  }

  /** What the bound says comes before the time that the server keeps history for. */
  #forgetHalf(): void {
    void this.compact(Math.ceil((this.#compacted + this.#revision) / 2));
  }

  #replaceVersion(event: Version): void {
    if (!this.#versions.has(event.key)) this.#keys.add(event.key);
    this.#versions.set(event.key, [event]);
  }

  #forget(key: string): void {
    this.#versions.delete(key);
    this.#keys.delete(key);
  }

  #writes(key: string, { before, limit }: { readonly before?: number; readonly limit: number }): KeptWrites {
    if (before !== undefined && before <= this.#compacted) throw forgotten(key, before, this.#compacted);
    const kept = (this.#versions.get(key) ?? []).filter((version) => version.durability === 'synced');
    const wanted = kept.filter((version) => before === undefined || version.revision < before).reverse();
    return { writes: wanted.slice(0, limit), more: wanted.length > limit, compacted: this.#compacted };
  }

  #compactedMoment(): Moment | undefined {
    return this.#compacted > 0 ? { revision: this.#compacted, time: this.#compactedAt } : undefined;
  }

  #history(prefix: string, from: number, upTo: number): readonly StorageEvent[] {
    const wanted = (event: StorageEvent): boolean =>
      event.revision > from && event.revision <= upTo && event.key.startsWith(prefix);
    const relaxed = [...this.#versions.values()].flat().filter((event) => event.durability === 'relaxed' && wanted(event));
    return [...this.#log.filter(wanted), ...relaxed].sort((a, b) => a.revision - b.revision);
  }
}

/** The version that a list at `revision` shows. A relaxed key has no history: it shows as it is now. */
function versionAt(versions: Versions, revision: number): Version | undefined {
  const newest = versions.at(-1);
  if (newest?.durability === 'relaxed') return newest;
  return versions.findLast((version) => version.revision <= revision);
}

function momentOf({ revision, time }: Version): Moment {
  return { revision, time };
}
