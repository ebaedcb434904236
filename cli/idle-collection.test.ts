import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkMs, collectWhenIdle, createIdleJudge } from './idle-collection.ts';

describe('the judge of idleness', () => {
  it('is due once after work has ended, and not before', () => {
    const isDue = createIdleJudge(0);
    expect([5_000, 12_000, 12_100, 12_200, 12_300].map(isDue)).toEqual([false, false, true, false, false]);
  });

  it('is due after the start, which is work too', () => {
    const isDue = createIdleJudge(900);
    expect([950, 1_000].map(isDue)).toEqual([true, false]);
  });

  it('is never due while little is done for ever', () => {
    const isDue = createIdleJudge(0);
    isDue(100);
    expect(Array.from({ length: 10 }, (_, index) => isDue(100 + index * 900))).not.toContain(true);
  });
});

describe('collecting when idle', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('collects after work, does not take its own time for work, and stops with the signal', () => {
    const stop = new AbortController();
    let cpu = 0;
    let collected = 0;
    collectWhenIdle(stop.signal, {
      cpuMs: () => cpu,
      collect() {
        collected++;
        cpu += 5_000;
      },
    });
    cpu = 8_000;
    vi.advanceTimersByTime(checkMs);
    expect(collected).toBe(0);
    vi.advanceTimersByTime(10 * checkMs);
    expect(collected).toBe(1);
    cpu += 8_000;
    vi.advanceTimersByTime(2 * checkMs);
    expect(collected).toBe(2);
    cpu += 8_000;
    stop.abort();
    vi.advanceTimersByTime(10 * checkMs);
    expect(collected).toBe(2);
  });

  it('collects for real: what was dropped is gone from the heap', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const stop = new AbortController();
    let dropped: WeakRef<object> | undefined = new WeakRef({ large: new Array(1_000_000).fill('x') });
    collectWhenIdle(stop.signal);
    return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      vi.advanceTimersByTime(2 * checkMs);
      expect(dropped?.deref()).toBeUndefined();
      stop.abort();
      dropped = undefined;
    });
  });
});
