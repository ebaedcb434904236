// What a schedule says, and whether it can be read. Apart from schedule.ts, because validation, which clients have as
// well, needs no library for it.

/** The values of a field that fit, in ascending order. A star leaves the choice of days to the other field of days. */
export interface FieldValues {
  readonly values: readonly number[];
  readonly isStar: boolean;
}

/** The five fields of a schedule. */
export interface ScheduleFields {
  readonly minute: FieldValues;
  readonly hour: FieldValues;
  readonly dayOfMonth: FieldValues;
  readonly month: FieldValues;
  readonly dayOfWeek: FieldValues;
}

/** What was read: five fields, or a number of seconds from one time to the next; or why it cannot be read. */
export type ReadSchedule =
  | { readonly kind: 'fields'; readonly fields: ScheduleFields }
  | { readonly kind: 'every'; readonly seconds: number }
  | { readonly kind: 'wrong'; readonly why: string };

interface Bounds {
  readonly name: keyof ScheduleFields;
  readonly title: string;
  readonly least: number;
  readonly most: number;
  /** Names of the values from `least` on. */
  readonly names: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const FIELDS: readonly Bounds[] = [
  { name: 'minute', title: 'minute', least: 0, most: 59, names: [] },
  { name: 'hour', title: 'hour', least: 0, most: 23, names: [] },
  { name: 'dayOfMonth', title: 'day of the month', least: 1, most: 31, names: [] },
  { name: 'month', title: 'month', least: 1, most: 12, names: MONTHS },
  { name: 'dayOfWeek', title: 'day of the week', least: 0, most: 6, names: DAYS },
];

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const LONGEST_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/** No schedule is longer; a longer one would cost time. */
const MAX_CHARACTERS = 1_000;

/** Reads a schedule by the rules of Kubernetes. One that never comes, as 30 February, is wrong as well. */
export function readSchedule(text: string): ReadSchedule {
  if (text.length > MAX_CHARACTERS) return wrong(`must have at most ${MAX_CHARACTERS} characters`);
  if (text.includes('TZ')) return wrong('must not name a time zone: use timeZone for that');
  const words = text.trim().split(/\s+/);
  const [first = ''] = words;
  if (first === '@every') return readEvery(words.slice(1).join(' '));
  if (first.startsWith('@')) {
    const macro = words.length === 1 && Object.hasOwn(MACROS, first) ? MACROS[first] : undefined;
    return macro ? readSchedule(macro) : wrong(`"${text}" is none of ${Object.keys(MACROS).join(', ')} and "@every 1h30m"`);
  }
  if (words.length !== FIELDS.length)
    return wrong('must have five fields: minute, hour, day of the month, month, day of the week, as in "30 2 * * MON-FRI"');
  return readFields(words);
}

const wrong = (why: string): ReadSchedule => ({ kind: 'wrong', why });

function readFields(words: readonly string[]): ReadSchedule {
  const fields: Partial<Record<keyof ScheduleFields, FieldValues>> = {};
  for (const [i, bounds] of FIELDS.entries()) {
    const found = readField(words[i]!, bounds);
    if (typeof found === 'string') return wrong(found);
    fields[bounds.name] = found;
  }
  const read = fields as ScheduleFields;
  return neverComes(read) ? wrong('names a day that no month of it has, such as 30 February') : { kind: 'fields', fields: read };
}

/** Whether every month is too short for every day. False with a day of the week: then a match of that is enough. */
function neverComes({ dayOfMonth, month, dayOfWeek }: ScheduleFields): boolean {
  if (dayOfMonth.isStar || !dayOfWeek.isStar) return false;
  const first = dayOfMonth.values[0]!;
  return month.values.every((number) => first > LONGEST_DAYS[number - 1]!);
}

function readField(text: string, bounds: Bounds): FieldValues | string {
  const values = new Set<number>();
  let isStar = false;
  for (const part of text.split(',')) {
    const found = readRange(part, bounds);
    if (typeof found === 'string') return found;
    for (let value = found.first; value <= found.last; value += found.step) values.add(value);
    isStar ||= found.isStar;
  }
  return { values: [...values].sort((a, b) => a - b), isStar };
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly step: number;
  readonly isStar: boolean;
}

/** "5", "1-5", "MON-FRI", "*", each also with a step: "1-5/2"; "5/10" goes from 5 to the end. "?" is a star. */
function readRange(text: string, bounds: Bounds): Range | string {
  const bad = (why: string): string => `the ${bounds.title} "${text}" ${why}`;
  const [range = '', stepText, ...more] = text.split('/');
  if (more.length > 0) return bad('has more than one "/"');
  const step = stepText === undefined ? 1 : /^\d{1,4}$/.test(stepText) ? Number(stepText) : 0;
  if (step === 0) return bad('has a step that is no number above 0');
  if (range === '*' || range === '?') return { first: bounds.least, last: bounds.most, step, isStar: step === 1 };
  const ends = range.split('-');
  if (ends.length > 2) return bad('has more than one "-"');
  const [first, second] = ends.map((end) => numberOf(end, bounds));
  const last = ends.length === 2 ? second : stepText === undefined ? first : bounds.most;
  if (first === undefined || last === undefined)
    return bad(
      `must be from ${bounds.least} to ${bounds.most}${bounds.names.length > 0 ? `, or a name such as ${nameOf(bounds)}` : ''}`,
    );
  return first > last ? bad('begins after its end') : { first, last, step, isStar: false };
}

const nameOf = ({ names }: Bounds): string => names[1]!.toUpperCase();

function numberOf(text: string, { least, most, names }: Bounds): number | undefined {
  const named = names.indexOf(text.toLowerCase());
  const value = named >= 0 ? least + named : /^\d{1,4}$/.test(text) ? Number(text) : -1;
  return value >= least && value <= most ? value : undefined;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 };
const DURATION = /^(?:\d+(?:\.\d+)?(?:h|ms|m|s|us|µs|ns))+$/;

/** A duration as Go writes it; fractions of a second are dropped. */
function readEvery(text: string): ReadSchedule {
  const parts = DURATION.test(text) ? [...text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g)] : [];
  const seconds = Math.floor(parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNIT_SECONDS[unit!]!, 0));
  return seconds < 1
    ? wrong('must be "@every" and a duration of a second or more, such as "@every 1h30m"')
    : { kind: 'every', seconds };
}
