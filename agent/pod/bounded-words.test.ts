import { expect, it } from 'vitest';
import { boundedWords } from './bounded-words.ts';

it('keeps words as they are up to the length that an event may have, and cuts out the middle of longer ones', () => {
  expect(boundedWords('a'.repeat(1_024))).toBe('a'.repeat(1_024));
  const cut = boundedWords(`begin${'x'.repeat(1_000_000)}end`);
  expect(cut).toMatch(/^beginx+\.\.\. \(\d+ letters\) \.\.\.x+end$/);
  expect(cut.length).toBeLessThanOrEqual(1_024);
});
