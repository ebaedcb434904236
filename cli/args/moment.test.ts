import { expect, it } from 'vitest';
import { parseMoment } from './moment.ts';

it('reads a version, a span of time, or a time', () => {
  expect(parseMoment('1234')).toEqual({ resourceVersion: '1234' });
  expect(parseMoment('10m')).toEqual({ ageMilliseconds: 600_000 });
  expect(parseMoment('1h30m')).toEqual({ ageMilliseconds: 5_400_000 });
  expect(parseMoment('99999999999999999h')).toEqual({ ageMilliseconds: Number.MAX_SAFE_INTEGER });
  expect(parseMoment('2026-01-31T12:00:00.5+01:00')).toEqual({ time: { seconds: 1769857200, nanos: 500_000_000 } });
});

it.each(['', 'yesterday', '-5m', '2026-01-31', '10 m'])('refuses %j and says what it takes', (text) => {
  expect(() => parseMoment(text)).toThrow('is no point in time; write 10m (ago), a resource version, or a time such as');
});
