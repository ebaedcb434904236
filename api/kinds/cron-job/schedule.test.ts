import { describe, expect, it } from 'vitest';
import { parseSchedule } from './schedule.ts';
import { readSchedule } from './schedule-fields.ts';

/** The next times after an instant, without what they have alike. */
function times(schedule: string, timeZone: string | undefined, after: string, count: number): string[] {
  const parsed = parseSchedule(schedule, timeZone);
  const found: string[] = [];
  for (let at = parsed.next(new Date(after)); at && found.length < count; at = parsed.next(at))
    found.push(at.toISOString().replace(':00.000Z', ''));
  return found;
}

describe('a schedule comes', () => {
  it.each<[string, string, string, string[]]>([
    ['every quarter of an hour', '*/15 * * * *', '2026-01-01T00:07:00Z', ['2026-01-01T00:15', '2026-01-01T00:30']],
    ['on working days', '30 2 * * MON-FRI', '2026-01-02T03:00:00Z', ['2026-01-05T02:30', '2026-01-06T02:30']],
    ['in named months, in any case', '0 0 1 feb,Aug *', '2026-01-01T00:00:00Z', ['2026-02-01T00:00', '2026-08-01T00:00']],
    ['from a value to the end in steps', '50/5 0 * * *', '2026-01-01T00:00:00Z', ['2026-01-01T00:50', '2026-01-01T00:55']],
    ['in a range in steps', '0 8-18/5 * * *', '2026-01-01T09:00:00Z', ['2026-01-01T13:00', '2026-01-01T18:00']],
    ['on the 13th and on each Friday', '0 0 13 * 5', '2026-03-07T00:00:00Z', ['2026-03-13T00:00', '2026-03-20T00:00']],
    ['on Fridays, with a star for the day', '0 0 ? * 5', '2026-03-07T00:00:00Z', ['2026-03-13T00:00', '2026-03-20T00:00']],
    ['on each second day and each Monday', '0 0 */2 * 1', '2026-03-01T00:00:00Z', ['2026-03-02T00:00', '2026-03-03T00:00']],
    ['on 29 February, years later', '0 0 29 2 *', '2026-03-01T00:00:00Z', ['2028-02-29T00:00', '2032-02-29T00:00']],
    ['on the last days of long months', '0 0 31 * *', '2026-03-31T00:00:00Z', ['2026-05-31T00:00', '2026-07-31T00:00']],
    ['hourly', '@hourly', '2026-01-01T00:00:00Z', ['2026-01-01T01:00', '2026-01-01T02:00']],
    ['daily', '@daily', '2026-01-01T00:00:00Z', ['2026-01-02T00:00', '2026-01-03T00:00']],
    ['weekly, on Sundays', '@weekly', '2026-01-01T00:00:00Z', ['2026-01-04T00:00', '2026-01-11T00:00']],
    ['monthly', '@monthly', '2026-01-01T00:00:00Z', ['2026-02-01T00:00', '2026-03-01T00:00']],
    ['yearly', '@yearly', '2026-01-01T00:00:00Z', ['2027-01-01T00:00', '2028-01-01T00:00']],
    ['after a duration', '@every 1h30m', '2026-01-01T00:00:00.700Z', ['2026-01-01T01:30', '2026-01-01T03:00']],
  ])('%s: %s', (_title, schedule, after, expected) => expect(times(schedule, 'UTC', after, 2)).toEqual(expected));

  it('by the clock of its time zone', () => {
    expect(times('0 9 * * *', 'Asia/Kolkata', '2026-01-01T00:00:00Z', 1)).toEqual(['2026-01-01T03:30']);
    expect(times('0 9 * * *', 'America/New_York', '2026-01-01T00:00:00Z', 1)).toEqual(['2026-01-01T14:00']);
  });

  it('not at a time that a change of the clock leaves out', () => {
    expect(times('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual(['2026-03-30T00:30', '2026-03-31T00:30']);
  });

  it('twice at a time that a change of the clock repeats', () => {
    const after = '2026-10-24T12:00:00Z';
    expect(times('30 2 * * *', 'Europe/Berlin', after, 3)).toEqual(['2026-10-25T00:30', '2026-10-25T01:30', '2026-10-26T01:30']);
  });
});

describe('missed times', () => {
  const at = (text: string): Date => new Date(`2026-01-01T${text}Z`);

  it.each<[string, string, string, string, string | undefined, number]>([
    ['none', '0 * * * *', '10:00:00', '10:59:59', undefined, 0],
    ['one, on the second', '0 * * * *', '10:00:00', '11:00:00', '11:00:00', 1],
    ['several', '*/10 * * * *', '10:00:00', '10:35:00', '10:30:00', 3],
    ['of a duration', '@every 20m', '10:00:00', '11:10:00', '11:00:00', 3],
    ['of a duration that is longer', '@every 2h', '10:00:00', '11:10:00', undefined, 0],
  ])('are counted: %s', (_title, schedule, after, until, latest, count) => {
    const found = parseSchedule(schedule, 'UTC').missed(at(after), at(until));
    expect(found).toEqual({ latest: latest && at(latest), count });
  });

  it('are counted up to a bound, and the last of them is known all the same', () => {
    const after = new Date('2020-01-01T00:00:00Z');
    const found = parseSchedule('* * * * *', 'UTC').missed(after, at('00:00:30'));
    expect(found).toEqual({ latest: at('00:00:00'), count: 100 });
    expect(parseSchedule('@every 1s').missed(after, at('00:00:30'), 7)).toEqual({ latest: at('00:00:30'), count: 7 });
  });
});

describe('a schedule is refused', () => {
  it.each<[string, string]>([
    ['* * * *', 'must have five fields'],
    ['0 * * * * *', 'must have five fields'],
    ['60 * * * *', 'the minute "60" must be from 0 to 59'],
    ['* 24 * * *', 'the hour "24" must be from 0 to 23'],
    ['* * 0 * *', 'the day of the month "0" must be from 1 to 31'],
    ['* * * 13 *', 'the month "13" must be from 1 to 12, or a name such as FEB'],
    ['* * * * 7', 'the day of the week "7" must be from 0 to 6, or a name such as MON'],
    ['* * * * MONDAY', 'the day of the week "MONDAY" must be'],
    ['* * * * 5L', 'the day of the week "5L" must be'],
    ['* * L * *', 'the day of the month "L" must be'],
    ['5-1 * * * *', 'the minute "5-1" begins after its end'],
    ['1-2-3 * * * *', 'has more than one "-"'],
    ['*/5/5 * * * *', 'has more than one "/"'],
    ['*/0 * * * *', 'has a step that is no number above 0'],
    ['1,,2 * * * *', 'the minute "" must be from 0 to 59'],
    ['0 0 30 2 *', 'names a day that no month of it has'],
    ['0 0 31 4,6,9,11 *', 'names a day that no month of it has'],
    ['@never', '"@never" is none of @yearly'],
    ['@daily 5', '"@daily 5" is none of'],
    ['@every', 'must be "@every" and a duration'],
    ['@every 10', 'must be "@every" and a duration'],
    ['@every 100ms', 'a duration of a second or more'],
    ['TZ=UTC 0 0 * * *', 'must not name a time zone: use timeZone'],
    ['CRON_TZ=UTC 0 0 * * *', 'must not name a time zone: use timeZone'],
    [`${'1,'.repeat(600)}1 * * * *`, 'must have at most 1000 characters'],
  ])('%s', (schedule, why) => {
    expect(readSchedule(schedule)).toEqual({ kind: 'wrong', why: expect.stringContaining(why) });
    expect(() => parseSchedule(schedule)).toThrow(RangeError);
  });

  it('but not for a day that no month has when it names a day of the week as well', () => {
    expect(readSchedule('0 0 30 2 1').kind).toBe('fields');
  });
});
