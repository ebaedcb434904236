import { expect, it } from 'vitest';
import { WorkCounter } from './work-counter.ts';

const signal = new AbortController().signal;

/** Whether a promise has resolved by the end of this turn of the event loop. */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
  let over = false;
  void promise.then(() => {
    over = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return over;
}

it('resolves at once, and says so, where nothing is under way or due', async () => {
  expect(await new WorkCounter().after(0, signal)).toBe(false);
});

it('resolves when what was under way and what was due are over, whatever came since', async () => {
  const work = new WorkCounter();
  const first = work.begin();
  const waits = work.after(1, signal);
  first();
  const second = work.begin();
  expect(await isOver(waits)).toBe(false);
  second();
  work.begin();
  expect(await waits).toBe(true);
});

it('resolves when the signal aborts, also one that has', async () => {
  const work = new WorkCounter();
  work.begin();
  const late = new AbortController();
  const waits = work.after(5, late.signal);
  expect(await isOver(waits)).toBe(false);
  late.abort();
  expect(await waits).toBe(true);
  expect(await work.after(5, late.signal)).toBe(false);
});
