import { expect, it } from 'vitest';
import { ReplacementBackoff } from './replacement-backoff.ts';

function setup() {
  let now = 0;
  const backoff = new ReplacementBackoff({ now: () => now, maxMs: 4_000 });
  return { backoff, pass: (ms: number) => (now += ms) };
}

it('replaces the first failed pod of a place at once, and the next ones after longer and longer waits', () => {
  const { backoff, pass } = setup();
  const waits: number[] = [];
  for (let nth = 0; nth < 5; nth++) {
    waits.push(backoff.waitMs('n1'));
    pass(waits.at(-1)!);
    backoff.note('n1');
  }
  expect(waits).toEqual([0, 1_000, 2_000, 4_000, 4_000]);
  expect(backoff.waitMs('n2')).toBe(0);
});

it('counts the time since the last replacement', () => {
  const { backoff, pass } = setup();
  backoff.note('n1');
  pass(300);
  expect(backoff.waitMs('n1')).toBe(700);
  pass(700);
  expect(backoff.waitMs('n1')).toBe(0);
});

it('begins anew after the place was quiet for twice the longest wait', () => {
  const { backoff, pass } = setup();
  for (let nth = 0; nth < 4; nth++) backoff.note('n1');
  pass(8_001);
  expect(backoff.waitMs('n1')).toBe(0);
  backoff.note('n1');
  expect(backoff.waitMs('n1')).toBe(1_000);
});

it('waits no longer than from now when the clock was set back', () => {
  const { backoff, pass } = setup();
  backoff.note('n1');
  pass(-60_000);
  expect(backoff.waitMs('n1')).toBe(1_000);
});

it('forgets the place that was replaced longest ago beyond 10,000 places', () => {
  const { backoff } = setup();
  for (let nth = 0; nth <= 10_000; nth++) backoff.note(`n${nth}`);
  expect([backoff.waitMs('n0'), backoff.waitMs('n1'), backoff.waitMs('n10000')]).toEqual([0, 1_000, 1_000]);
});
