import { describe, expect, it } from 'vitest';
import { createBackoff } from './backoff.ts';

describe('backoff', () => {
  it('grows by its factor up to its maximum and starts again after a reset', () => {
    const backoff = createBackoff({ initialMs: 100, maxMs: 1_000, factor: 3, jitter: 0 });
    expect([backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([100, 300, 900, 1_000]);
    backoff.reset();
    expect(backoff.next()).toBe(100);
  });

  it('takes a random part away and never exceeds the maximum', () => {
    const at = (random: number) => createBackoff({ initialMs: 1_000, maxMs: 1_000, jitter: 0.4, random: () => random }).next();
    expect([at(0), at(0.5), at(1)]).toEqual([1_000, 800, 600]);
  });

  it('stays finite after thousands of failures', () => {
    const backoff = createBackoff({ initialMs: 100, maxMs: 5_000, jitter: 0 });
    for (let failure = 0; failure < 5_000; failure++) expect(backoff.next()).toBeLessThanOrEqual(5_000);
  });
});
