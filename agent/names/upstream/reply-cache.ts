import type { Reply } from './reply.ts';

export interface CacheLimits {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

export const defaultCacheLimits: CacheLimits = { maxEntries: 10_000, maxBytes: 4_000_000 };

/** How long a reply is kept beyond its time, for when no upstream server answers (RFC 8767 allows a day to three). */
export const staleMs = 3_600_000;
/** What a stale reply tells its readers (RFC 8767, 4). */
export const staleTtlSeconds = 30;

export interface CachedReply {
  readonly reply: Reply;
  readonly storedAtMs: number;
  readonly freshUntilMs: number;
  /** Until then no server is asked again, because none answered (RFC 8767, 5). */
  retryAtMs: number;
}

/** What an entry costs besides the bytes of its records. */
const overhead = 400;

/**
 * Replies by their question, the least recently used evicted first. Bounded in entries and bytes, whatever arrives.
 * Times are those that callers give, in milliseconds of one clock.
 */
export class ReplyCache {
  readonly #limits: CacheLimits;
  readonly #entries = new Map<string, CachedReply>();
  #bytes = 0;

  constructor(limits: CacheLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What is known, fresh or stale; entries that are stale for too long are gone. */
  get(key: string, nowMs: number): CachedReply | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (nowMs >= entry.freshUntilMs + staleMs) {
      this.#bytes -= sizeOf(key, entry.reply);
      return undefined;
    }
    this.#entries.set(key, entry);
    return entry;
  }

  /** Keeps a reply for the time that it says. One that may not be kept only takes away what was known. */
  set(key: string, reply: Reply, nowMs: number): void {
    this.#delete(key);
    const size = sizeOf(key, reply);
    if (reply.ttlSeconds <= 0 || size > this.#limits.maxBytes) return;
    const freshUntilMs = nowMs + reply.ttlSeconds * 1000;
    this.#entries.set(key, { reply, storedAtMs: nowMs, freshUntilMs, retryAtMs: 0 });
    this.#bytes += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.maxEntries && this.#bytes <= this.#limits.maxBytes) break;
      this.#delete(oldest);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  #delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= sizeOf(key, entry.reply);
  }
}

function sizeOf(key: string, { body, ends }: Reply): number {
  return body.length + key.length + 6 * ends.length + overhead;
}
