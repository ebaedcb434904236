export interface BucketOptions {
  /** Calls in a second, in the long run. */
  readonly rate: number;
  /** The most tokens that a bucket holds, which can be taken at once after a pause. */
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** A client idle for this long has a full bucket, like a new client, so its entry can be dropped. */
const maxClients = 10_000;

/** A bucket of calls for each client: filled steadily, emptied by calls. */
export class TokenBuckets {
  readonly #options: BucketOptions;
  readonly #now: () => number;
  /** The least recently active client first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: BucketOptions, now: () => number) {
    this.#options = options;
    this.#now = now;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Takes a call out; 0, or how many milliseconds later there is one again. */
  take(client: string): number {
    const { rate, burst } = this.#options;
    const now = this.#now();
    const bucket = this.#buckets.get(client) ?? { tokens: burst, at: now };
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * rate);
    bucket.at = now;
    this.#buckets.delete(client);
    this.#buckets.set(client, bucket);
    if (this.#buckets.size > maxClients) this.#buckets.delete(this.#buckets.keys().next().value as string);
    if (bucket.tokens < 1) return Math.ceil(((1 - bucket.tokens) / rate) * 1000);
    bucket.tokens--;
    return 0;
  }
}
