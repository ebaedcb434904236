import { expect, it } from 'vitest';
import { createExecExits } from './exec-exits.ts';

const anHour = 3_600_000;

it('is known at once when it was told before, and as soon as it is told else', async () => {
  const exits = createExecExits();
  const [early, late] = [exits.expect('early'), exits.expect('late')];
  exits.note('early', 3);
  expect(await early.within(anHour)).toBe(3);
  const waiting = late.within(anHour);
  exits.note('late', 4);
  expect(await waiting).toBe(4);
});

it('is unknown when it is not told in time, or not expected any more', async () => {
  const exits = createExecExits();
  const exit = exits.expect('e');
  exits.note('other', 1);
  expect(await exit.within(1)).toBeUndefined();
  exit.forget();
  exits.note('e', 0);
  expect(await exit.within(1)).toBeUndefined();
});
