import { expect, it } from 'vitest';
import { historyErrors, historyOptions } from './history-flags.ts';

it('reads a span and a size, and leaves the rest to the server', () => {
  expect(historyErrors({ history: '24h', historySize: '512Mi' })).toEqual([]);
  expect(historyOptions({ history: '24h', historySize: '512Mi' })).toEqual({ historyMs: 86_400_000, historyBytes: 536_870_912 });
  expect([historyErrors({}), historyOptions({})]).toEqual([[], {}]);
});

it.each(['0s', '5s', 'long', '-1h'])('refuses to keep history for %j', (history) => {
  expect(historyErrors({ history })).toEqual([`--history "${history}" must be a span of at least 10s, e.g. 30m or 24h`]);
});

it.each(['0', '24', '86400'])('takes %j for no span, as it has no unit', (history) => {
  expect(historyErrors({ history })).toEqual([`--history "${history}" needs a unit, e.g. 30m or 24h`]);
});

it.each(['0', '10', '8Gi', 'much'])('refuses a history of the size %j', (historySize) => {
  expect(historyErrors({ historySize })).toEqual([`--history-size "${historySize}" must be from 1Mi to 2Gi, e.g. 512Mi`]);
});
