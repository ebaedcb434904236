import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { collectAtRest, lookMs, ownHeap } from './rest-collection.ts';

const megabyte = 1024 * 1024;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A thread whose collection leaves 4 MB. */
function createHeap(usedMb: number) {
  const heap = { activeMs: 0, usedMb, collections: 0 };
  const measured = {
    activeMs: () => heap.activeMs,
    usedBytes: () => heap.usedMb * megabyte,
    collect() {
      heap.collections++;
      heap.usedMb = 4;
    },
  };
  return { heap, measured };
}

/** Looks once more, after the thread was at work so long and has made so much. */
function pass(heap: { activeMs: number; usedMb: number }, activeMs: number, megabytes = 0): void {
  heap.activeMs += activeMs;
  heap.usedMb += megabytes;
  vi.advanceTimersByTime(lookMs);
}

it('collects once when the work of the start has ended, and again when enough was made since', () => {
  const { heap, measured } = createHeap(20);
  const stop = collectAtRest(measured);
  pass(heap, 2_000);
  expect(heap.collections).toBe(0);
  pass(heap, 50);
  expect(heap.collections).toBe(1);
  pass(heap, 50, 1.5);
  pass(heap, 50, 0.4);
  expect(heap.collections).toBe(1);
  pass(heap, 50, 0.4);
  expect(heap.collections).toBe(2);
  stop();
});

it('collects neither a busy thread nor a heap whose pause would be long', () => {
  const { heap, measured } = createHeap(20);
  const stop = collectAtRest(measured);
  for (let look = 0; look < 5; look++) pass(heap, 500, 1);
  expect(heap.collections).toBe(0);
  heap.usedMb = 40;
  pass(heap, 0);
  expect(heap.collections).toBe(0);
  stop();
});

it('measures this thread, and collects its garbage', async () => {
  vi.useRealTimers();
  const heap = ownHeap();
  let garbage: unknown[] | undefined = Array.from({ length: 200_000 }, (_, n) => ({ n }));
  const before = heap.usedBytes();
  expect(garbage.length).toBe(200_000);
  garbage = undefined;
  heap.collect();
  await expect.poll(() => heap.usedBytes()).toBeLessThan(before - 4 * megabyte);
  expect(heap.activeMs()).toBeGreaterThanOrEqual(0);
});
