import { PREPARED } from './budget.ts';
import { keptBy } from './kept.ts';

const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|([+-])(\d{2}):(\d{2})))?$/;
const SECOND = 1_000_000_000n;
/** The size of the cache of formatters, one per zone: making one costs as much as formatting some hundred times. */
const KEPT_ZONES = 2 * PREPARED;
/** The longest name of a zone. */
const ZONE_CHARACTERS = 100;

/** Reads a date, or a time with its zone, as nanoseconds since 1970; undefined for another text. */
export function parseTimestamp(text: string): bigint | undefined {
  const [, year, month, day, hours, minutes, seconds, fraction = '', , sign, zoneHours, zoneMinutes] = RFC_3339.exec(text) ?? [];
  if (year === undefined) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCDate() !== Number(day)) return undefined;
  const zone = (Number(zoneHours ?? 0) * 60 + Number(zoneMinutes ?? 0)) * (sign === '-' ? -1 : 1);
  const ofDay = (Number(hours ?? 0) * 60 + Number(minutes ?? 0) - zone) * 60 + Number(seconds ?? 0);
  return (BigInt(date.getTime()) / 1000n + BigInt(ofDay)) * SECOND + BigInt(fraction.padEnd(9, '0'));
}

/** As Kubernetes' string() writes a time: in UTC, with as many digits of a second as it has. */
export function timestampText(nanoseconds: bigint): string {
  const seconds = nanoseconds >= 0n ? nanoseconds / SECOND : (nanoseconds - SECOND + 1n) / SECOND;
  const fraction = (nanoseconds - seconds * SECOND).toString().padStart(9, '0').replace(/0+$/, '');
  const text = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${text}${fraction === '' ? '' : `.${fraction}`}Z`;
}

/** As Kubernetes' string() writes a duration: "3600s", "1.5s". */
export function durationText(nanoseconds: bigint): string {
  const amount = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = (amount % SECOND).toString().padStart(9, '0').replace(/0+$/, '');
  return `${nanoseconds < 0n ? '-' : ''}${amount / SECOND}${fraction === '' ? '' : `.${fraction}`}s`;
}

/** The parts of a time in a zone: "Europe/Zurich", "+02:00", "UTC". Undefined for a zone that is unknown. */
export function partsOf(nanoseconds: bigint, zone: string): Date | undefined {
  const milliseconds = Number(nanoseconds / 1_000_000n);
  const [, sign, hours, minutes] = /^([+-]?)(\d{2}):(\d{2})$/.exec(zone) ?? [];
  if (hours !== undefined) {
    const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
    return new Date(milliseconds + offset * 60_000);
  }
  const format = zone.length > ZONE_CHARACTERS ? null : formats(zone);
  if (format === null) return undefined;
  const parts = Object.fromEntries(format.formatToParts(milliseconds).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second, ((milliseconds % 1000) + 1000) % 1000));
}

const formats = keptBy(KEPT_ZONES, (timeZone): Intl.DateTimeFormat | null => {
  const numeric = 'numeric';
  const units = { year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric } as const;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...units });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
});
