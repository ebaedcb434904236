import { expect, it } from 'vitest';
import { formatAge } from './age.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

it.each([
  ['a clock that runs ahead counts as now', -5 * second, '0s'],
  ['seconds up to two minutes', 119 * second, '119s'],
  ['minutes and seconds up to ten minutes', 3 * minute + 20 * second, '3m20s'],
  ['whole minutes without zero seconds', 4 * minute, '4m'],
  ['minutes up to three hours', 179 * minute, '179m'],
  ['hours and minutes up to eight hours', 5 * hour + 1 * minute, '5h1m'],
  ['hours up to two days', 47 * hour, '47h'],
  ['days and hours up to eight days', 4 * day + 3 * hour, '4d3h'],
  ['days up to two years', 729 * day, '729d'],
  ['years and days after that', 730 * day, '2y'],
])('%s', (_title, ms, expected) => expect(formatAge(ms)).toBe(expected));
