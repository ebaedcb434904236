import { expect, it } from 'vitest';
import { JsonReader } from './json-reader.ts';

it('tells of a hundred unknown fields and of a hundred wrong values, and looks for what no others may have meant', () => {
  const reader = new JsonReader();
  let searches = 0;
  for (let i = 0; i < 100_000; i++)
    reader.unknown(`f${i}`, () => {
      searches++;
      return undefined;
    });
  for (let i = 0; i < 100_000; i++) reader.within(i, i, () => reader.wrong('a string', i));
  expect(searches).toBe(100);
  const reasons = reader.violations.map(({ reason }) => reason);
  expect([reasons.length, new Set(reasons).size]).toEqual([200, 2]);
  expect(reader.violations.at(-1)!.field).toBe('[99]');
});
