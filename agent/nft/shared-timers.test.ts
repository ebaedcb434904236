import { expect, it } from 'vitest';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { withSharedTimers } from './shared-timers.ts';

it('wakes all that wait for one moment with one timer', async () => {
  const clock = createFakeClock();
  const called: string[] = [];
  withSharedTimers(clock).after(2_000, () => called.push('a'));
  await clock.advance(500);
  withSharedTimers(clock).after(1_500, () => called.push('b'));
  withSharedTimers(clock).after(1_504, () => called.push('c'));
  expect(clock.pending).toBe(1);
  withSharedTimers(clock).after(1_700, () => called.push('later'));
  expect(clock.pending).toBe(2);
  await clock.advance(1_500);
  expect(called).toEqual(['a', 'b', 'c']);
  await clock.advance(200);
  expect(called).toEqual(['a', 'b', 'c', 'later']);
  expect(clock.pending).toBe(0);
});

it('keeps the timer until the last that waits has cancelled', async () => {
  const clock = createFakeClock();
  const shared = withSharedTimers(clock);
  const called: string[] = [];
  const cancels = ['a', 'b'].map((name) => shared.after(1_000, () => called.push(name)));
  cancels[0]?.();
  cancels[0]?.();
  expect(clock.pending).toBe(1);
  await clock.advance(1_000);
  expect(called).toEqual(['b']);
  const last = shared.after(1_000, () => called.push('c'));
  last();
  expect(clock.pending).toBe(0);
  await clock.advance(1_000);
  expect(called).toEqual(['b']);
});

it('lets a callback wait again, and cancel another of its moment', async () => {
  const clock = createFakeClock();
  const shared = withSharedTimers(clock);
  const called: string[] = [];
  let cancel = (): void => {};
  shared.after(1_000, () => {
    called.push('a');
    cancel();
    shared.after(1_000, () => called.push('a again'));
  });
  cancel = shared.after(1_000, () => called.push('b'));
  await clock.advance(2_000);
  expect(called).toEqual(['a', 'a again']);
  expect(clock.pending).toBe(0);
});
