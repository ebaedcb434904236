import { Buffer } from 'node:buffer';
import { ipVersion, isAddressRange } from '../../api/meta/ip.ts';

/** Longer texts match no format but "byte" and "password". */
const FORMATTED_CHARACTERS = 8192;

const HOSTNAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;
const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?([0-9a-f])[0-9a-f]{3}-?([0-9a-f])[0-9a-f]{3}-?[0-9a-f]{12}$/i;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?([Zz]|[+-](\d{2}):?(\d{2}))$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const RGB = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/;

/** One line for each format of texts that Kubernetes checks; all other formats are remarks. */
const TEXT_FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  datetime: isDateTime,
  'date-time': isDateTime,
  duration: (text) => parseDuration(text) !== undefined,
  byte: (text) => text.length % 4 === 0 && BASE64.test(text),
  password: () => true,
  uuid: (text) => UUID.test(text),
  uuid3: (text) => UUID.exec(text)?.[1] === '3',
  uuid4: (text) => isUuidOf(text, '4'),
  uuid5: (text) => isUuidOf(text, '5'),
  ipv4: (text) => ipVersion(text) === 4,
  ipv6: (text) => ipVersion(text) === 6,
  ip: (text) => ipVersion(text) !== 0,
  cidr: isAddressRange,
  mac: (text) => /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(text) || /^([0-9a-f]{4}\.){2}[0-9a-f]{4}$/i.test(text),
  email: isEmail,
  hostname: isHostname,
  uri: isUri,
  bsonobjectid: (text) => /^[0-9a-f]{24}$/i.test(text),
  hexcolor: (text) => /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i.test(text),
  rgbcolor: (text) =>
    RGB.exec(text)
      ?.slice(1)
      .every((part) => Number(part) <= 255) ?? false,
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  'k8s-short-name': (text) => text.length <= 63 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(text),
  'k8s-long-name': (text) => text.length <= 253 && text.split('.').every((part) => /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(part)),
};

/** Whether a text has the format; true for formats that are not checked. */
export function hasTextFormat(text: string, format: string): boolean {
  if (!Object.hasOwn(TEXT_FORMATS, format)) return true;
  if (text.length > FORMATTED_CHARACTERS && format !== 'byte' && format !== 'password') return false;
  return TEXT_FORMATS[format]!(text);
}

/** Whether texts of the format are checked. */
export function isTextFormat(format: string): boolean {
  return Object.hasOwn(TEXT_FORMATS, format);
}

const INT32 = 2 ** 31;
const INT64 = 2 ** 63;

/** Whether a number is within the range of its format: int32, int64, uint32, uint64, float; true for others. */
export function hasNumberFormat(number: number, format: string): boolean {
  if (format === 'int32') return number >= -INT32 && number < INT32;
  if (format === 'int64') return number >= -INT64 && number <= INT64;
  if (format === 'uint32') return number >= 0 && number < 2 * INT32;
  if (format === 'uint64') return number >= 0 && number <= 2 * INT64;
  if (format === 'float') return Math.abs(number) <= 3.402_823_466_385_288_6e38;
  return true;
}

function isDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text) ?? [];
  if (year === undefined) return false;
  const days = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate();
  return Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= days;
}

function isDateTime(text: string): boolean {
  const [, date = '', hours, minutes, seconds, , , zoneHours = '0', zoneMinutes = '0'] = DATE_TIME.exec(text) ?? [];
  if (!isDate(date)) return false;
  return (
    Number(hours) <= 23 && Number(minutes) <= 59 && Number(seconds) <= 59 && Number(zoneHours) <= 23 && Number(zoneMinutes) <= 59
  );
}

function isUuidOf(text: string, version: string): boolean {
  const [, found, variant = ''] = UUID.exec(text) ?? [];
  return found === version && /[89ab]/i.test(variant);
}

function isHostname(text: string): boolean {
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  return name.length <= 253 && name.split('.').every((label) => HOSTNAME.test(label));
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (at < 1 || text.length > 320) return false;
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)];
  const isDotted = local.split('.').every((part) => /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\uffff-]+$/.test(part));
  const isQuoted = /^"[^"\\\r\n]+"$/.test(local);
  return (isDotted || isQuoted) && (isHostname(domain) || /^\[[0-9a-fA-F:.]+\]$/.test(domain));
}

/** Like Go's url.ParseRequestURI: an absolute URI, or a path that starts with "/". */
function isUri(text: string): boolean {
  if (text === '' || [...text].some((each) => each <= ' ' || each === '\u007f')) return false;
  if (text.startsWith('/')) return true;
  return /^[A-Za-z][A-Za-z0-9+.-]*:[^\s]/.test(text) && URL.canParse(text);
}

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[- ]/g, '');
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = [...digits].reduce((total, digit, at) => total + (digit === 'X' ? 10 : Number(digit)) * (10 - at), 0);
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[- ]/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  return [...digits].reduce((total, digit, at) => total + Number(digit) * (at % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

/** By its check digit (Luhn). */
function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/[- ]/g, '');
  if (!/^\d{13,19}$/.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, at) => {
    const doubled = Number(digit) * (at % 2 === 0 ? 1 : 2);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}

const NANOSECONDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** Reads a duration of Go, "1h30m" or "-1.5s", as nanoseconds; undefined for another text, or one out of range. */
export function parseDuration(text: string): bigint | undefined {
  const [, sign, body = ''] = /^([+-]?)(.{1,200})$/.exec(text) ?? [];
  if (body === '0') return 0n;
  const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;
  let total = 0n;
  for (let end = 0; end < body.length; end = part.lastIndex) {
    part.lastIndex = end;
    const [, whole = '', fraction = '', unit = ''] = part.exec(body) ?? [];
    if (whole === '' && fraction === '') return undefined;
    const nanoseconds = NANOSECONDS[unit]!;
    total += BigInt(whole || '0') * nanoseconds;
    total += (BigInt(fraction.slice(0, 18) || '0') * nanoseconds) / 10n ** BigInt(Math.min(fraction.length, 18));
  }
  if (body === '' || total >= 2n ** 63n) return undefined;
  return sign === '-' ? -total : total;
}

/** The bytes of a text of format "byte". */
export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'base64');
}
