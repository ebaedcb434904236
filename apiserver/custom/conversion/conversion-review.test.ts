import { expect, it } from 'vitest';
import { readReview } from './conversion-review.ts';

it('an answer that only nests is refused before the parser, which would take seconds, gets to its end', () => {
  const desired = { apiVersion: 'a.example.com/v2' };
  const read = () => readReview('['.repeat(100_000), { uid: 'u', version: 'v1', desired, objects: [] });
  expect(read).toThrow('failed: the answer is nested more than 128 levels deep');
});
