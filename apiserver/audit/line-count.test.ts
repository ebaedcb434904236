import { expect, it } from 'vitest';
import { LineCount } from './line-count.ts';

it('writes 500 refusals of each user in ten minutes, and says that there are more', () => {
  const count = new LineCount();
  const take = (user: string, now: number, times: number) => Array.from({ length: times }, () => count.take(user, now));
  expect(take('anna', 0, 600).filter((each) => each !== 'left out')).toHaveLength(500);
  expect(count.take('bert', 0)).toBe('written');
  expect(count.take('anna', 599_999)).toBe('left out');
  expect(take('anna', 600_000, 501).slice(-3)).toEqual(['written', 'last', 'left out']);
});

it('tells once for each user and sort how many lines of the last ten minutes were left out', () => {
  const count = new LineCount();
  for (let i = 0; i < 700; i++) count.take('anna', 1_000, 'reads');
  for (let i = 0; i < 501; i++) count.take('anna', 2_000);
  for (let i = 0; i < 500; i++) count.take('bert', 3_000);
  expect(count.takeLeftOut(600_999)).toEqual([]);
  expect(count.takeLeftOut(602_000)).toEqual([
    { user: 'anna', sort: 'reads', since: 1_000, count: 200 },
    { user: 'anna', sort: 'refusals', since: 2_000, count: 1 },
  ]);
  expect(count.takeLeftOut(Number.POSITIVE_INFINITY)).toEqual([]);
});

it('tells it also of a window that a later line ends, or that thousands of other users evict', () => {
  const count = new LineCount();
  for (let i = 0; i < 502; i++) count.take('anna', 0);
  count.take('anna', 600_000);
  expect(count.takeLeftOut(600_000)).toMatchObject([{ user: 'anna', count: 2 }]);
  for (let i = 0; i < 503; i++) count.take('bert', 600_000);
  for (let i = 0; i < 10_000; i++) count.take(`user-${i}`, 600_000);
  expect(count.takeLeftOut(600_000)).toMatchObject([{ user: 'bert', count: 3 }]);
});
