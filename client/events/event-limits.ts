import { createLru } from '../../api/meta/lru.ts';
import type { Clock } from '../clock.ts';

/** How often one object may be written about: 25 at once, then one every 5 minutes, as in client-go's spam filter. */
const burst = 25;
const refillMs = 300_000;

/** A bucket of tokens for each key; a key that was forgotten for want of room starts with a full one. */
export function createRateLimits(options: { readonly clock: Clock; readonly size: number }) {
  const buckets = createLru<{ tokens: number; at: number }>(options.size);
  return {
    allows(key: string): boolean {
      const now = options.clock.now();
      const bucket = buckets.get(key) ?? { tokens: burst, at: now };
      bucket.tokens = Math.min(burst, bucket.tokens + Math.max(0, now - bucket.at) / refillMs);
      bucket.at = now;
      buckets.set(key, bucket);
      if (bucket.tokens < 1) return false;
      bucket.tokens--;
      return true;
    },
  };
}
