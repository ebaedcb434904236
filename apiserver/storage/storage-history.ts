/** One write of a key that is kept, with who made it. */
export interface KeptWrite {
  readonly type: 'put' | 'delete';
  readonly revision: number;
  /** The revision of the write of the same key before this one, which may be forgotten; 0: there was none. */
  readonly previous: number;
  /** Milliseconds since 1970 when the write was accepted, as the clock said then. */
  readonly time: number;
  readonly verb: string;
  readonly user: string;
  readonly manager: string;
  /** The object after a put; its last state after a delete. */
  readonly bytes: Uint8Array;
}

export interface KeptWrites {
  /** Newest first. */
  readonly writes: readonly KeptWrite[];
  /** Whether older ones follow. */
  readonly more: boolean;
  /** Of the writes up to this revision only the newest of each key is kept, and no deletion. */
  readonly compacted: number;
}

/** A state of the store: that after the write of this revision, which was accepted at this time. */
export interface Moment {
  readonly revision: number;
  readonly time: number;
}

/**
 * What the store remembers of its synced writes; relaxed keys have no history. Part of the port: the registry reads it,
 * seldom, and nothing here costs a write anything. Every error is a StorageError.
 */
export interface StorageHistory {
  /**
   * The writes of a key that are kept, also of one that is deleted, and across its deletions: at most `limit`, those
   * before revision `before` (one that an earlier page gave; absent: all). Throws `compacted` when that has been
   * forgotten meanwhile.
   */
  writes(key: string, options: { readonly before?: number; readonly limit: number }): Promise<KeptWrites>;
  /**
   * The newest state whose time is at or before `time`; undefined when that is older than what is kept. Where the clock
   * was set back, a time happened twice: then it is the later state.
   */
  at(time: number): Promise<Moment | undefined>;
  /** When the state of a revision came to be; undefined when it is older than what is kept. */
  of(revision: number): Promise<Moment | undefined>;
  /** The oldest state that can be read; undefined while nothing is kept. */
  beginning(): Promise<Moment | undefined>;
}
