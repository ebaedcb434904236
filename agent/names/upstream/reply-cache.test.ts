import { describe, expect, it } from 'vitest';
import type { Reply } from './reply.ts';
import { ReplyCache } from './reply-cache.ts';

function reply(bytes: number, ttlSeconds = 60): Reply {
  const none = new Uint16Array();
  return {
    rcode: 0,
    answers: 1,
    authorities: 0,
    body: Buffer.alloc(bytes),
    base: 0,
    ends: none,
    ttls: none,
    pointers: none,
    ttlSeconds,
  };
}

describe('the reply cache', () => {
  it('holds so many entries, and evicts the one that was used least recently', () => {
    const cache = new ReplyCache({ maxEntries: 2, maxBytes: 1_000_000 });
    cache.set('a', reply(10), 0);
    cache.set('b', reply(10), 0);
    cache.get('a', 0);
    cache.set('c', reply(10), 0);
    expect(['a', 'b', 'c'].filter((key) => cache.get(key, 0))).toEqual(['a', 'c']);
  });

  it('holds so many bytes, and nothing that is larger', () => {
    const cache = new ReplyCache({ maxEntries: 1000, maxBytes: 10_000 });
    for (let n = 0; n < 100; n++) cache.set(`key ${n}`, reply(1000), 0);
    expect(cache.size).toBeLessThanOrEqual(7);
    expect(cache.bytes).toBeLessThanOrEqual(10_000);
    cache.set('large', reply(20_000), 0);
    expect(cache.get('large', 0)).toBeUndefined();
  });

  it('forgets what has been stale for an hour, and its size with it', () => {
    const cache = new ReplyCache({ maxEntries: 10, maxBytes: 10_000 });
    cache.set('a', reply(10), 0);
    expect(cache.get('a', 60_000 + 3_599_999)).toBeDefined();
    expect(cache.get('a', 60_000 + 3_600_000)).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });

  it('replaces an entry without counting it twice', () => {
    const cache = new ReplyCache({ maxEntries: 10, maxBytes: 10_000 });
    cache.set('a', reply(10), 0);
    const { bytes } = cache;
    cache.set('a', reply(10), 0);
    expect(cache.bytes).toBe(bytes);
    cache.set('a', reply(10, 0), 0);
    expect([cache.size, cache.bytes]).toEqual([0, 0]);
  });
});
