import type { Duration, IntOrString, Quantity, Timestamp } from '../generated/types.ts';
import { isQuantity, storedQuantity } from '../meta/quantity.ts';
import { fromRfc3339, isWritableTime, toRfc3339, truncatedTime } from '../meta/time.ts';
import type { JsonReader } from './json-reader.ts';

/** How one type of value reads from JSON and writes to it. `read` gives undefined after it reported a violation. */
export interface ValueCodec {
  read(json: unknown, at: JsonReader): unknown;
  write(value: unknown): unknown;
  /** Reports a value that protobuf carries and `read` would not give. Absent: there is none. */
  readonly check?: ((value: unknown, at: JsonReader) => unknown) | undefined;
  /** What null is as an item of a list or a value of a map. Absent: it is refused there. */
  readonly zero?: (() => unknown) | undefined;
}

const asIs = (value: unknown): unknown => value;

const text: ValueCodec = {
  read: (json, at) => (typeof json === 'string' ? json : at.wrong('a string', json)),
  write: asIs,
  zero: () => '',
};

const bool: ValueCodec = {
  read: (json, at) => (typeof json === 'boolean' ? json : at.wrong('true or false', json)),
  write: asIs,
  zero: () => false,
};

function integer(minimum: number, maximum: number): ValueCodec {
  const expected = `an integer from ${minimum} to ${maximum}`;
  return {
    read: (json, at) => {
      if (typeof json === 'number' && Number.isInteger(json) && json >= minimum && json <= maximum) return json + 0;
      return at.wrong(expected, json);
    },
    write: asIs,
    zero: () => 0,
  };
}

function checkedByReading(codec: ValueCodec): ValueCodec {
  return { ...codec, check: codec.read };
}

const float: ValueCodec = {
  read: (json, at) => {
    if (typeof json === 'number') return json;
    const special = { NaN: Number.NaN, Infinity: Number.POSITIVE_INFINITY, '-Infinity': Number.NEGATIVE_INFINITY };
    if (typeof json === 'string' && Object.hasOwn(special, json)) return special[json as keyof typeof special];
    return at.wrong('a number', json);
  },
  write: (value) => (Number.isFinite(value) ? value : String(value)),
  zero: () => 0,
};

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const bytes: ValueCodec = {
  read: (json, at) => {
    if (typeof json !== 'string') return at.wrong('base64 text', json);
    const compact = json.replace(/[\r\n]/g, '');
    return compact.length % 4 === 0 && BASE64.test(compact) ? Buffer.from(compact, 'base64') : at.wrong('base64 text', json);
  },
  write: (value) => (value as Buffer).toString('base64'),
  zero: () => Buffer.alloc(0),
};

const INT32 = integer(-(2 ** 31), 2 ** 31 - 1);
const UINT32 = integer(0, 2 ** 32 - 1);
/** JSON numbers are doubles here; a larger integer would change on the way, so it is refused. */
const INT64 = checkedByReading(integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER));
const UINT64 = checkedByReading(integer(0, Number.MAX_SAFE_INTEGER));

/** By protobuf type. */
export const scalarCodecs: Readonly<Record<string, ValueCodec>> = {
  string: text,
  bool,
  bytes,
  double: float,
  float,
  int32: INT32,
  sint32: INT32,
  sfixed32: INT32,
  uint32: UINT32,
  fixed32: UINT32,
  int64: INT64,
  sint64: INT64,
  sfixed64: INT64,
  uint64: UINT64,
  fixed64: UINT64,
};

const A_QUANTITY = 'a quantity such as "100m", "1.5" or "2Gi"';

/** A string or a number; kept in the one text for the amount, as Kubernetes does. */
export const quantityCodec: ValueCodec = {
  read: (json, at): Quantity | undefined => {
    const written = typeof json === 'number' ? String(json) : json;
    const stored = typeof written === 'string' ? storedQuantity(written) : undefined;
    return stored === undefined ? at.wrong(A_QUANTITY, json) : { string: stored };
  },
  write: (value) => (value as Quantity).string ?? '0',
  zero: (): Quantity => ({ string: '0' }),
  check(value, at) {
    const { string = '0' } = value as Quantity;
    if (!isQuantity(string)) at.wrong(A_QUANTITY, string);
  },
};

export const intOrStringCodec: ValueCodec = {
  read: (json, at): IntOrString | undefined => {
    if (typeof json === 'string') return { type: 1, strVal: json };
    if (typeof json === 'number' && Number.isInteger(json) && json >= -(2 ** 31) && json < 2 ** 31)
      return { type: 0, intVal: json + 0 };
    return at.wrong('an integer or a string', json);
  },
  write: (value) => {
    const { type, intVal, strVal } = value as IntOrString;
    return type === 1 ? (strVal ?? '') : (intVal ?? 0);
  },
  zero: (): IntOrString => ({ type: 0, intVal: 0 }),
  check(value, at) {
    const { type = 0 } = value as IntOrString;
    if (type !== 0 && type !== 1) at.wrong('the type 0 (an integer) or 1 (a string)', type);
  },
};

/** Kubernetes accepts finer times and truncates them. */
function time(digits: 0 | 6): ValueCodec {
  return {
    read: (json, at) => {
      const parsed = typeof json === 'string' ? fromRfc3339(json) : undefined;
      return parsed ? truncatedTime(parsed, digits) : at.wrong('a time such as "2026-01-31T12:00:00Z"', json);
    },
    write: (value) => toRfc3339(truncatedTime(value as Timestamp, digits), digits),
    check: (value, at) => isWritableTime(value as Timestamp) || at.wrong('a time in the years 1 to 9999', value),
  };
}

export const timeCodec = time(0);
export const microTimeCodec = time(6);

const DURATION = /^([+-]?)((?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|ns))+$/;
const DURATION_PART = /(\d+\.?\d*|\.\d+)(h|ms|m|s|us|µs|ns)/g;
const NANOS: Readonly<Record<string, number>> = { h: 3600e9, m: 60e9, s: 1e9, ms: 1e6, us: 1e3, µs: 1e3, ns: 1 };

/** Seconds as text ("30s", "1.5s"); "1m30s" and the like are read as well. */
export const durationCodec: ValueCodec = {
  read: (json, at): Duration | undefined => {
    const parts = typeof json === 'string' ? DURATION.exec(json) : null;
    return parts
      ? parseDuration(json as string, parts[1] === '-' ? -1 : 1)
      : at.wrong('a duration such as "30s" or "1m30s"', json);
  },
  write: (value) => {
    const { seconds = 0, nanos = 0 } = value as Duration;
    if (nanos === 0) return `${seconds}s`;
    const sign = seconds < 0 || nanos < 0 ? '-' : '';
    return `${sign}${Math.abs(seconds)}.${String(Math.abs(nanos)).padStart(9, '0').replace(/0+$/, '')}s`;
  },
  check(value, at) {
    const { seconds = 0, nanos = 0 } = value as Duration;
    const isWhole = Number.isSafeInteger(seconds) && Math.abs(nanos) < 1e9 && seconds * nanos >= 0;
    if (!isWhole) at.wrong('a duration of seconds, and nanoseconds below a second of the same sign', value);
  },
};

/** Whole seconds and nanoseconds are summed apart, so that neither loses digits. */
function parseDuration(written: string, sign: number): Duration {
  let [seconds, nanos] = [0, 0];
  for (const [, amount = '', unit = ''] of written.matchAll(DURATION_PART)) {
    const [whole = '', fraction = ''] = amount.split('.');
    const [unitNanos, isLong] = [NANOS[unit]!, NANOS[unit]! >= 1e9];
    if (isLong) seconds += Number(whole) * (unitNanos / 1e9);
    else nanos += Number(whole) * unitNanos;
    if (fraction) nanos += Math.round(Number(`0.${fraction}`) * unitNanos);
  }
  seconds += Math.floor(nanos / 1e9);
  nanos %= 1e9;
  return nanos === 0 ? { seconds: sign * seconds + 0 } : { seconds: sign * seconds + 0, nanos: sign * nanos };
}
