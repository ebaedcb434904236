import { Cron } from 'croner';
import { type FieldValues, readSchedule, type ScheduleFields } from './schedule-fields.ts';

/** The times of a schedule. Instants are whole seconds. */
export interface Schedule {
  /** The first time after an instant; undefined when there is none. */
  next(after: Date): Date | undefined;
  /**
   * The times after `after` and until `until`, which may be one of them: the last one, and how many there are. Counting
   * ends with `most`; the last time is right all the same.
   */
  missed(after: Date, until: Date, most?: number): { readonly latest: Date | undefined; readonly count: number };
}

/** At most this many missed times are counted: the exact number of more does not matter. */
const COUNTED = 100;
const SECOND_MS = 1_000;

/**
 * The times of a schedule that validation has accepted, in a time zone; undefined is the zone of this machine. Throws
 * RangeError for a schedule or time zone that it would not have.
 *
 * Times that a change of the clock leaves out are left out, and those that it repeats come twice, as in Kubernetes.
 */
export function parseSchedule(schedule: string, timeZone?: string): Schedule {
  const read = readSchedule(schedule);
  if (read.kind === 'wrong') throw new RangeError(`schedule "${schedule}": ${read.why}`);
  if (read.kind === 'every') return every(read.seconds * SECOND_MS);
  const options = { mode: '5-part', paused: true, ...(timeZone !== undefined && { timezone: timeZone }) } as const;
  const cron = new Cron(patternOf(read.fields), options);
  return {
    next: (after) => cron.nextRun(after) ?? undefined,
    missed: (after, until, most = COUNTED) => {
      const [latest] = cron.previousRuns(1, new Date(until.getTime() + 1));
      if (!latest || latest <= after) return { latest: undefined, count: 0 };
      let [count, at] = [0, cron.nextRun(after)];
      while (at && at <= until && count < most) [count, at] = [count + 1, cron.nextRun(at)];
      return { latest, count };
    },
  };
}

/** Each so much later than the one before; the first so much later than the instant that is asked for. */
function every(ms: number): Schedule {
  const whole = (date: Date): number => Math.floor(date.getTime() / SECOND_MS) * SECOND_MS;
  return {
    next: (after) => new Date(whole(after) + ms),
    missed: (after, until, most = COUNTED) => {
      const count = Math.max(0, Math.floor((until.getTime() - whole(after)) / ms));
      return { latest: count === 0 ? undefined : new Date(whole(after) + count * ms), count: Math.min(count, most) };
    },
  };
}

/**
 * The fields for the library, in its own words. Values are written as intervals with a step: of plain values it moves
 * a time that a change of the clock leaves out, and passes over one that is repeated.
 */
function patternOf({ minute, hour, dayOfMonth, month, dayOfWeek }: ScheduleFields): string {
  return [minute, hour, dayOfMonth, month, dayOfWeek].map(fieldOf).join(' ');
}

function fieldOf({ values, isStar }: FieldValues): string {
  return isStar ? '*' : values.map((value) => `${value}-${value}/1`).join(',');
}
