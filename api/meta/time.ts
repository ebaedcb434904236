import type { Timestamp } from '../generated/types.ts';

/** Years 0001 to 9999, which RFC 3339 can write, in seconds since 1970. */
const MIN_SECONDS = -62135596800;
const MAX_SECONDS = 253402300799;
const MAX_NANOS = 999_999_999;

/** The longest period in seconds that anything may wait for; a date so far ahead can still be written. */
export const longestSeconds = 2 ** 31 - 1;

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9})\d*)?([Zz]|([+-])(\d\d):(\d\d))$/;

/** An instant as a Timestamp, to the millisecond. */
export function timestamp(date: Date): Timestamp {
  const ms = date.getTime();
  const seconds = Math.floor(ms / 1000);
  const nanos = (ms - seconds * 1000) * 1_000_000;
  return nanos === 0 ? { seconds } : { seconds, nanos };
}

/** Kubernetes keeps most times to the second; this drops the rest. */
export function secondsTimestamp(date: Date): Timestamp {
  return { seconds: Math.floor(date.getTime() / 1000) };
}

/** A time as Kubernetes keeps it: to the second, or with `digits` 6 (its MicroTime) to the microsecond. */
export function truncatedTime({ seconds = 0, nanos = 0 }: Timestamp, digits: 0 | 6): Timestamp {
  const kept = digits === 0 ? 0 : Math.trunc(nanos / 1000) * 1000;
  return kept === 0 ? { seconds } : { seconds, nanos: kept };
}

/** Milliseconds since 1970. */
export function toMillis(time: Timestamp): number {
  return (time.seconds ?? 0) * 1000 + Math.floor((time.nanos ?? 0) / 1_000_000);
}

export function toDate(time: Timestamp): Date {
  return new Date(toMillis(time));
}

/** Negative when `a` is before `b`; an absent time is before every other. */
export function compareTimestamps(a: Timestamp | undefined, b: Timestamp | undefined): number {
  if (!a || !b) return (a ? 1 : 0) - (b ? 1 : 0);
  return (a.seconds ?? 0) - (b.seconds ?? 0) || (a.nanos ?? 0) - (b.nanos ?? 0);
}

/** Whether RFC 3339 can write a time as it is. */
export function isWritableTime({ seconds = 0, nanos = 0 }: Timestamp): boolean {
  return seconds >= MIN_SECONDS && seconds <= MAX_SECONDS && nanos >= 0 && nanos <= MAX_NANOS;
}

/**
 * RFC 3339 in UTC. `digits` are the least fractional digits: 0 for Kubernetes' Time, 6 for its MicroTime. More are
 * written where the time has them, so that nothing is lost.
 */
export function toRfc3339(time: Timestamp, digits: 0 | 6 = 0): string {
  const seconds = Math.min(Math.max(time.seconds ?? 0, MIN_SECONDS), MAX_SECONDS);
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
  const nanos = Math.min(Math.max(time.nanos ?? 0, 0), MAX_NANOS);
  const fraction = String(nanos).padStart(9, '0');
  if (nanos % 1000 !== 0) return `${whole}.${fraction}Z`;
  if (digits === 6) return `${whole}.${fraction.slice(0, 6)}Z`;
  return nanos === 0 ? `${whole}Z` : `${whole}.${fraction.slice(0, nanos % 1_000_000 === 0 ? 3 : 6)}Z`;
}

/** Reads RFC 3339 with any offset; undefined when the text is none or names a day that does not exist. */
export function fromRfc3339(text: string): Timestamp | undefined {
  const parts = RFC3339.exec(text);
  if (!parts) return undefined;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, Math.min(second, 59));
  const rolledOver = date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day;
  if (rolledOver || hour > 23 || minute > 59 || second > 60) return undefined;
  const seconds = date.getTime() / 1000 + (second === 60 ? 1 : 0) - offsetSeconds(parts);
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS) return undefined;
  const nanos = Number((parts[7] ?? '').padEnd(9, '0'));
  return nanos === 0 ? { seconds } : { seconds, nanos };
}

function offsetSeconds(parts: RegExpExecArray): number {
  if (!parts[9]) return 0;
  const seconds = Number(parts[10]) * 3600 + Number(parts[11]) * 60;
  return parts[9] === '-' ? -seconds : seconds;
}
