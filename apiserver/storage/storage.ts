import type { BackupSource } from './backup/backup-source.ts';
import type { StorageHistory } from './storage-history.ts';

/** How a write reaches the disk. `relaxed` writes have no sync of their own, no history, and may be lost by a crash. */
export type Durability = 'synced' | 'relaxed';

/** What is written: the object's bytes (without a resourceVersion; the revision is the store's) and who wrote them. */
export interface Write {
  readonly kind: string;
  readonly bytes: Uint8Array;
  readonly user: string;
  readonly manager: string;
  readonly verb: string;
  readonly durability: Durability;
  /**
   * A relaxed write that is on the disk before it is acknowledged or shown all the same; it takes the relaxed writes of
   * its key with it.
   */
  readonly awaitsDisk?: boolean;
  /** It ends or reports something: it is written on a disk that is nearly full too, as long as there is a reserve. */
  readonly urgent?: boolean;
  /** So many of the bytes are not the object's own, and do not count where its size is bounded. */
  readonly overheadBytes?: number;
  /** Comes back with the event of this write, in this process, and is not stored. */
  readonly memo?: WriteMemo;
}

/** What is worked out once of what a write stores: by its writer, or by the first that hears of its event. */
export interface WriteMemo {
  /** See `elementsOf`. */
  elements?: number;
  /** The object as it is served, and the revision that it names. */
  served?: { readonly bytes: Buffer; readonly revision: number };
}

export interface StoredObject {
  readonly key: string;
  readonly bytes: Uint8Array;
  /** The revision of the last write of this key. */
  readonly revision: number;
}

export interface ListOptions {
  /**
   * The state as of this revision; absent or 0: the newest. Throws `compacted` when it is no longer kept, or was never
   * reached. Relaxed keys have no history: they are shown as they are now, possibly with a higher revision.
   */
  readonly revision?: number;
  /** Starts behind this key. */
  readonly after?: string;
  /** At most so many objects; 0 or absent: all. */
  readonly limit?: number;
}

export interface StoredPage {
  readonly items: readonly StoredObject[];
  /** The revision that the page shows; at least that of every write acknowledged before the call. */
  readonly revision: number;
  /** Whether more objects follow behind the last one. */
  readonly more: boolean;
}

export interface StorageEvent {
  readonly type: 'put' | 'delete';
  readonly key: string;
  readonly revision: number;
  /** The object after a put; its last state after a delete. */
  readonly bytes: Uint8Array;
  readonly durability: Durability;
  /** That of the write, where the store keeps it until then; never of what is read from the history. */
  readonly memo?: WriteMemo | undefined;
}

/** What a store takes up, in bytes, as of its last commit. */
export interface StorageUsage {
  readonly fileBytes: number;
  readonly diskFreeBytes: number;
  /** The newest state of each synced object. */
  readonly liveBytes: number;
  readonly historyBytes: number;
  readonly relaxedBytes: number;
  readonly compactedRevision: number;
}

/**
 * Where the API server keeps its objects. Keys are "resource/namespace/name" or "resource/name", where the resource
 * has its group ("pods", "leases.coordination.k8s.io"), in printable ASCII; values are at most 1.5 MiB (`too-large`).
 * One revision counter for the whole store: every write takes a higher one, and none is ever used twice, not even
 * across a crash (which may leave a gap). Durability is a property of the kind: a write of a key whose last write had
 * another one is refused (`failed`). Bytes that were handed in or out are not changed. Safe for concurrent calls from
 * one process. Every error is a StorageError (storage-error.ts).
 */
export interface Storage {
  /** The history: writes with author and time, and the state at a time. */
  readonly history: StorageHistory;
  /** Absent where nothing is kept that outlives the process. */
  readonly backup?: BackupSource;
  /** What it takes up; absent where nothing is kept that outlives the process. */
  readonly usage?: () => StorageUsage;
  /** Stores a new key and returns its revision once the write has the requested durability. Throws `exists`. */
  create(key: string, write: Write): Promise<number>;
  /** Reads one key, as of the last acknowledged write or later. */
  get(key: string): Promise<StoredObject | undefined>;
  /** Reads the keys with a prefix in byte order. */
  list(prefix: string, options?: ListOptions): Promise<StoredPage>;
  /**
   * Replaces a key if its revision is still `expected`. Throws `not-found`, or `mismatch` with the current revision.
   */
  update(key: string, expected: number, write: Write): Promise<number>;
  /** Removes a key if its revision is still `expected`; `write.bytes` is its last state. Throws like `update`. */
  delete(key: string, expected: number, write: Write): Promise<number>;
  /**
   * Every event with a revision above `from` (default: from now), in order, exactly once, in batches, until `signal`
   * aborts (then it ends without an error). Synced writes appear only once they are durable. Throws `compacted` when
   * events above `from` are no longer kept; relaxed keys have no history, so only their newest state above `from` may
   * appear. A caller that does not read fast enough to keep within a bound gets `slow`.
   */
  watch(
    options: { readonly prefix: string; readonly from?: number },
    signal: AbortSignal,
  ): AsyncIterable<readonly StorageEvent[]>;
  /**
   * Forgets history up to and including `revision`: lists at older revisions and watches from older revisions throw
   * `compacted`.
   */
  compact(revision: number): Promise<void>;
  /** Finishes what was begun, syncs, and releases everything. */
  close(): Promise<void>;
}
