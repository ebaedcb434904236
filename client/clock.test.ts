import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pause, systemClock } from './clock.ts';

const dayMs = 86_400_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('the machine clock', () => {
  it('waits as long as it was told, also longer than a timer can', async () => {
    let called = 0;
    systemClock.after(60 * dayMs, () => called++);
    await vi.advanceTimersByTimeAsync(60 * dayMs - 1);
    expect(called).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(called).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('forgets what is no longer wanted at any time of a long wait', async () => {
    let called = 0;
    const cancel = systemClock.after(60 * dayMs, () => called++);
    await vi.advanceTimersByTimeAsync(30 * dayMs);
    cancel();
    cancel();
    await vi.advanceTimersByTimeAsync(60 * dayMs);
    expect([called, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('ends a pause of years when its signal aborts, and not before', async () => {
    const abort = new AbortController();
    let isOver = false;
    void pause(1_000 * dayMs, abort.signal).then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(100 * dayMs);
    expect(isOver).toBe(false);
    abort.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect([isOver, vi.getTimerCount()]).toEqual([true, 0]);
  });
});
