import { parseDuration } from '../../schema/formats.ts';
import type { Budget } from '../budget.ts';
import { isList, isMap, lengthOf, OPAQUE_STEPS, sizeOfMap } from '../equality.ts';
import { compilePattern } from '../patterns.ts';
import { durationText, parseTimestamp, timestampText } from '../timestamps.ts';
import {
  CelError,
  Duration,
  failed,
  ObjectView,
  Opaque,
  Optional,
  readClock,
  Timestamp,
  TypeName,
  Uint,
  type Value,
} from '../values.ts';
import { type Library, readTexts, searchText, textArg } from './library.ts';

/** CEL's own functions. */
export const standard: Library = {
  name: 'standard',
  signatures: [
    'string.matches(string): bool',
    'matches(string, string): bool',
    'string(google.protobuf.Timestamp): string',
    'string(google.protobuf.Duration): string',
    'int(google.protobuf.Timestamp): int',
    'timestamp(google.protobuf.Timestamp): google.protobuf.Timestamp',
    'duration(google.protobuf.Duration): google.protobuf.Duration',
  ],
  handlers: {
    dyn: ([value]) => value!,
    type: ([value]) => new TypeName(typeNameOf(value!)),
    size: ([value], budget) => BigInt(sizeOf(value!, budget)),
    bool: ([value]) => toBool(value!),
    int: ([value]) => toInt(value!),
    uint: ([value]) => new Uint(inRange(value instanceof Uint ? value.value : toInt(value!), 0n, 2n ** 64n - 1n)),
    double: ([value]) => toDouble(value!),
    string: ([value], budget) => toText(value!, budget),
    bytes: ([value], budget) => {
      if (value instanceof Uint8Array) return value;
      const text = textArg(value);
      readTexts(budget, text);
      return Buffer.from(text, 'utf8');
    },
    timestamp: ([value], budget) => toTimestamp(value!, budget),
    duration: ([value], budget) => toDuration(value!, budget),
    startsWith: ([text, start], budget) => comparing(text, start, budget, (a, b) => a.startsWith(b)),
    endsWith: ([text, end], budget) => comparing(text, end, budget, (a, b) => a.endsWith(b)),
    contains: ([text, part], budget) => {
      searchText(budget, textArg(text), textArg(part));
      return textArg(text).includes(textArg(part));
    },
    matches: ([text, pattern], budget) => matchesText(textArg(text), textArg(pattern), budget),
  },
};

function comparing(
  text: Value | undefined,
  part: Value | undefined,
  budget: Budget,
  test: (text: string, part: string) => boolean,
): boolean {
  const [a, b] = [textArg(text), textArg(part)];
  readTexts(budget, a, b);
  return test(a, b);
}

function matchesText(text: string, pattern: string, budget: Budget): boolean {
  budget.take(Math.ceil(pattern.length / 4));
  return patternOf(pattern, budget).test(text, budget);
}

/** A pattern that a rule computes may be wrong only for some objects. */
export function patternOf(source: string, budget: Budget) {
  try {
    return compilePattern(source, budget);
  } catch (error) {
    if (error instanceof RangeError) throw new CelError(`invalid regular expression: ${error.message}`);
    throw error;
  }
}

const NAMES: Readonly<Record<string, string>> = { string: 'string', bigint: 'int', number: 'double', boolean: 'bool' };

function typeNameOf(value: Value): string {
  if (value === null) return 'null_type';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof TypeName) return 'type';
  if (value instanceof Optional) return 'optional_type';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof Opaque) return value.typeName;
  if (value instanceof ObjectView && !value.isMap) return 'object';
  return isList(value) ? 'list' : isMap(value) ? 'map' : NAMES[typeof value]!;
}

function sizeOf(value: Value, budget: Budget): number {
  if (typeof value === 'string') {
    readTexts(budget, value);
    let count = 0;
    for (const _ of value) count++;
    return count;
  }
  if (value instanceof Uint8Array) return value.length;
  if (isList(value)) return lengthOf(value);
  return isMap(value) ? sizeOfMap(value, budget) : failed('no such overload: size() needs a string, bytes, list or map');
}

function inRange(value: bigint, least: bigint, most: bigint): bigint {
  return value < least || value > most ? failed('integer overflow: the number is out of range') : value;
}

function toInt(value: Value): bigint {
  const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return inRange(value.value, least, most);
  if (value instanceof Timestamp) return value.nanoseconds / 1_000_000_000n;
  if (typeof value === 'number')
    return Math.abs(value) < 2 ** 63 ? BigInt(Math.trunc(value)) : failed('integer overflow: the number is out of range');
  const text = textArg(value);
  return /^[+-]?\d{1,20}$/.test(text) ? inRange(BigInt(text), least, most) : failed('the text is no int');
}

function toDouble(value: Value): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  const text = textArg(value);
  const isNumber = text.length <= 400 && /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?$/.test(text);
  return isNumber ? Number(text) : failed('the text is no double');
}

function toBool(value: Value): boolean {
  if (typeof value === 'boolean') return value;
  const text = textArg(value);
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  return ['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text) ? false : failed('the text is no bool');
}

export function toText(value: Value, budget: Budget): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Timestamp) return timestampText(value.nanoseconds);
  if (value instanceof Duration) return durationText(value.nanoseconds);
  if (value instanceof Opaque) {
    budget.take(OPAQUE_STEPS);
    return value.identity;
  }
  if (!(value instanceof Uint8Array)) return failed('no such overload: the value cannot be written as a string');
  budget.take(Math.ceil(value.length / 10));
  return Buffer.from(value).toString('utf8');
}

function toTimestamp(value: Value, budget: Budget): Timestamp {
  if (value instanceof Timestamp) return value;
  if (typeof value === 'string') readClock(value, budget);
  const nanoseconds = typeof value === 'bigint' ? value * 1_000_000_000n : parseTimestamp(textArg(value));
  if (nanoseconds === undefined || nanoseconds < -62_135_596_800n * 10n ** 9n || nanoseconds > 253_402_300_799n * 10n ** 9n)
    return failed('the value is no time: write it as "2006-01-02T15:04:05Z"');
  return new Timestamp(nanoseconds);
}

function toDuration(value: Value, budget: Budget): Duration {
  if (value instanceof Duration) return value;
  readClock(textArg(value), budget);
  return new Duration(parseDuration(textArg(value)) ?? failed('the text is no duration: write it as "1h30m" or "1.5s"'));
}
