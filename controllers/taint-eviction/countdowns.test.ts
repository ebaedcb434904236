import { expect, it } from 'vitest';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createCountdowns } from './countdowns.ts';

function start() {
  const clock = createFakeClock();
  const countdowns = createCountdowns({ clock });
  const woken: string[] = [];
  const disconnect = countdowns.connect((owner) => void woken.push(owner));
  return { clock, countdowns, woken, disconnect };
}

it('a countdown wakes its owner when it is over, once, however often it is kept', async () => {
  const { clock, countdowns, woken } = start();
  const wanted = new Map([['k', 25_000]]);
  countdowns.keep('n1', wanted);
  await clock.advance(15_000);
  countdowns.keep('n1', wanted);
  await clock.advance(9_999);
  expect([woken, countdowns.isOver('n1', 'k')]).toEqual([[], false]);
  await clock.advance(1);
  expect([woken, countdowns.isOver('n1', 'k')]).toEqual([['n1'], true]);
  await clock.advance(60_000);
  expect(woken).toEqual(['n1']);
});

it('one that is not kept is forgotten, with its timer', async () => {
  const { clock, countdowns, woken } = start();
  countdowns.keep('n1', new Map([['k', 5_000]]));
  countdowns.keep('n1', new Map());
  expect(clock.pending).toBe(0);
  await clock.advance(60_000);
  expect([woken, countdowns.isOver('n1', 'k')]).toEqual([[], false]);
});

it('all begin anew after a restart, also those that are over', async () => {
  const { clock, countdowns, woken } = start();
  countdowns.keep('n1', new Map([['k', 5_000]]));
  await clock.advance(5_000);
  countdowns.restart();
  expect(countdowns.isOver('n1', 'k')).toBe(false);
  await clock.advance(5_000);
  expect([woken, countdowns.isOver('n1', 'k')]).toEqual([['n1', 'n1'], true]);
});

it('a process that stood still has counted ten seconds at most', () => {
  // A clock whose timers are all due when it is looked at, as after a machine has slept.
  const waiting: (() => void)[] = [];
  const after = (_: number, callback: () => void) => {
    waiting.push(callback);
    return () => {};
  };
  const countdowns = createCountdowns({ clock: { now: () => 0, after } });
  countdowns.connect(() => {});
  countdowns.keep('n1', new Map([['k', 300_000]]));
  for (let i = 0; i < 29; i++) waiting.shift()?.();
  expect(countdowns.isOver('n1', 'k')).toBe(false);
  waiting.shift()?.();
  expect(countdowns.isOver('n1', 'k')).toBe(true);
});

it('nothing is left running after the end', () => {
  const { clock, countdowns, disconnect } = start();
  countdowns.keep('n1', new Map([['k', 5_000]]));
  disconnect();
  expect(clock.pending).toBe(0);
});
