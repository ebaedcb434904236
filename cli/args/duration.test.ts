import { expect, it } from 'vitest';
import { parseDuration } from './duration.ts';

it.each([
  ['90', 90_000],
  ['30s', 30_000],
  ['1h30m', 5_400_000],
  ['250ms', 250],
  ['1.5m', 90_000],
  ['2s500us', 2_000.5],
  ['10µs', 0.01],
])('reads %s', (text, ms) => expect(parseDuration(text)).toBe(ms));

it.each(['', 'soon', '5 minutes', '-3s', '3x'])('refuses "%s" and says what to write', (text) => {
  expect(() => parseDuration(text)).toThrow('write e.g. 30s, 5m or 1h30m');
});
