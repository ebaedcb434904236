import { describe, expect, it } from 'vitest';
import { SourceLimits } from './source-limits.ts';

describe('the limits of a source', () => {
  it('let a burst pass, and then so many a second, apart for each address', () => {
    const limits = new SourceLimits({ perSecond: 10, burst: 3, maxWaiting: 1 });
    const take = (address: string, atMs: number, times: number) =>
      Array.from({ length: times }, () => limits.take(address, atMs)).filter(Boolean).length;
    expect(take('a', 0, 5)).toBe(3);
    expect(take('b', 0, 1)).toBe(1);
    expect(take('a', 200, 5)).toBe(2);
    expect(take('a', 60_000, 5)).toBe(3);
  });

  it('bound the queries of an address that wait', () => {
    const limits = new SourceLimits({ perSecond: 10, burst: 3, maxWaiting: 1 });
    limits.take('a', 0);
    expect([limits.wait('a'), limits.wait('a')]).toEqual([true, false]);
    limits.done('a');
    expect(limits.wait('a')).toBe(true);
  });

  it('remember 4,096 addresses', () => {
    const limits = new SourceLimits({ perSecond: 10, burst: 3, maxWaiting: 1 });
    for (let n = 0; n < 10_000; n++) limits.take(String(n), 0);
    expect(limits.size).toBe(4096);
  });
});
