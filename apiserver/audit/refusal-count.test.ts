import { expect, it } from 'vitest';
import { RefusalCount } from './refusal-count.ts';

it('writes 500 refusals of each user in ten minutes, and says that there are more', () => {
  const count = new RefusalCount();
  const take = (user: string, now: number, times: number) => Array.from({ length: times }, () => count.take(user, now));
  expect(take('anna', 0, 600).filter((each) => each !== 'left out')).toHaveLength(500);
  expect(count.take('bert', 0)).toBe('written');
  expect(count.take('anna', 599_999)).toBe('left out');
  expect(take('anna', 600_000, 501).slice(-3)).toEqual(['written', 'last', 'left out']);
});
