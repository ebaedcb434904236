export interface SourceLimitOptions {
  /** Queries a second from one address, and how many of them at once after a pause. */
  readonly perSecond: number;
  readonly burst: number;
  /** Queries of one address that wait for upstream servers. */
  readonly maxWaiting: number;
}

/** A quarter of what the thread answers on one core: no address alone keeps it busy. */
export const defaultSourceLimits: SourceLimitOptions = { perSecond: 8000, burst: 16_000, maxWaiting: 200 };

/** More than a node has pods; of more sources the oldest are forgotten. */
const maxSources = 4096;

interface Source {
  tokens: number;
  atMs: number;
  waiting: number;
}

/** What one address may ask: a token bucket for its queries, and a bound of those that wait. */
export class SourceLimits {
  readonly #options: SourceLimitOptions;
  readonly #sources = new Map<string, Source>();

  constructor(options: SourceLimitOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sources.size;
  }

  /** Whether one more query is answered. */
  take(address: string, nowMs: number): boolean {
    const { perSecond, burst } = this.#options;
    const source = this.#sources.get(address) ?? this.#add(address, nowMs);
    source.tokens = Math.min(burst, source.tokens + ((nowMs - source.atMs) * perSecond) / 1000);
    source.atMs = nowMs;
    if (source.tokens < 1) return false;
    source.tokens--;
    return true;
  }

  /** Whether one more may wait; `done` has to follow when it does. */
  wait(address: string): boolean {
    const source = this.#sources.get(address);
    if (source === undefined || source.waiting >= this.#options.maxWaiting) return false;
    source.waiting++;
    return true;
  }

  done(address: string): void {
    const source = this.#sources.get(address);
    if (source !== undefined && source.waiting > 0) source.waiting--;
  }

  #add(address: string, nowMs: number): Source {
    if (this.#sources.size >= maxSources) this.#sources.delete(this.#sources.keys().next().value!);
    const source: Source = { tokens: this.#options.burst, atMs: nowMs, waiting: 0 };
    this.#sources.set(address, source);
    return source;
  }
}
