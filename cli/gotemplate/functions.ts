import { isJsonObject } from '../../api/meta/merge-patch.ts';
import { formatValue, sprint, sprintf, typeName, type Value } from './format.ts';

/** Why a function cannot be called so; the evaluator adds which and where. */
export class FunctionError extends Error {}

interface Function {
  readonly least: number;
  readonly most?: number;
  call(values: readonly Value[]): Value;
}

const functions: Readonly<Record<string, Function>> = {
  // The evaluator decides these two without asking for values that do not matter.
  and: { least: 1, call: (values) => values.find((value) => !isTrue(value)) ?? values.at(-1) },
  or: { least: 1, call: (values) => values.find(isTrue) ?? values.at(-1) },
  not: { least: 1, most: 1, call: ([value]) => !isTrue(value) },
  eq: { least: 1, call: ([first, ...others]) => isAnyEqual(first, others) },
  ne: { least: 2, most: 2, call: ([a, b]) => !isAnyEqual(a, [b]) },
  lt: { least: 2, most: 2, call: ([a, b]) => order(a, b) < 0 },
  le: { least: 2, most: 2, call: ([a, b]) => order(a, b) <= 0 },
  gt: { least: 2, most: 2, call: ([a, b]) => order(a, b) > 0 },
  ge: { least: 2, most: 2, call: ([a, b]) => order(a, b) >= 0 },
  len: { least: 1, most: 1, call: ([value]) => lengthOf(value) },
  index: { least: 1, call: ([value, ...indices]) => indices.reduce(memberAt, value) },
  slice: { least: 1, most: 3, call: ([value, from, to]) => slice(value, from, to) },
  print: { least: 0, call: sprint },
  println: { least: 0, call: (values) => `${values.map(formatValue).join(' ')}\n` },
  printf: { least: 1, call: ([format, ...values]) => sprintf(text(format), values) },
  html: { least: 0, call: (values) => escapeHtml(joined(values)) },
  js: { least: 0, call: (values) => escapeScript(joined(values)) },
  urlquery: { least: 0, call: (values) => escapeQuery(joined(values)) },
  // kubectl's own.
  base64decode: { least: 1, most: 1, call: ([value]) => decodeBase64(text(value)) },
  exists: { least: 1, call: ([value, ...indices]) => exists(value, indices) },
};

export function isFunction(name: string): boolean {
  return Object.hasOwn(functions, name);
}

/** Throws FunctionError. */
export function callFunction(name: string, values: readonly Value[]): Value {
  const { call } = functions[name]!;
  checkCount(name, values.length);
  return call(values);
}

/** Throws FunctionError. */
export function checkCount(name: string, count: number): void {
  const { least, most = Number.POSITIVE_INFINITY } = functions[name]!;
  if (count >= least && count <= most) return;
  const want = most === least ? `${least}` : count < least ? `at least ${least}` : `at most ${most}`;
  throw new FunctionError(`wrong number of args for ${name}: want ${want} got ${count}`);
}

/** As Go sees it: nothing, false, 0 and what is empty are false. */
export function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isJsonObject(value) ? Object.keys(value).length > 0 : Boolean(value);
}

function text(value: Value): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) throw new FunctionError('invalid value; expected string');
  throw new FunctionError(`wrong type for value; expected string; got ${typeName(value)}`);
}

function joined(values: readonly Value[]): string {
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : sprint(values);
}

function isAnyEqual(first: Value, others: readonly Value[]): boolean {
  if (others.length === 0) throw new FunctionError('missing argument for comparison');
  return others.some((other) => isEqual(first, other));
}

function isEqual(a: Value, b: Value): boolean {
  const [left, right] = [a ?? undefined, b ?? undefined];
  for (const value of [left, right])
    if (typeof value === 'object') throw new FunctionError(`non-comparable type ${formatValue(value)}: ${typeName(value)}`);
  if (left !== undefined && right !== undefined && typeof left !== typeof right)
    throw new FunctionError('incompatible types for comparison');
  return left === right;
}

function order(a: Value, b: Value): number {
  for (const value of [a, b])
    if (typeof value !== 'number' && typeof value !== 'string') throw new FunctionError('invalid type for comparison');
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  throw new FunctionError('incompatible types for comparison');
}

function lengthOf(value: Value): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (Array.isArray(value)) return value.length;
  if (isJsonObject(value)) return Object.keys(value).length;
  throw new FunctionError(isNothing(value) ? 'len of nil pointer' : `len of type ${typeName(value)}`);
}

const isNothing = (value: Value): boolean => value === undefined || value === null;

function memberAt(value: Value, index: Value): Value {
  if (isNothing(value)) throw new FunctionError('index of untyped nil');
  if (isJsonObject(value)) {
    if (isNothing(index)) throw new FunctionError('value is nil; should be of type string');
    if (typeof index !== 'string') throw new FunctionError(`value has type ${typeName(index)}; should be string`);
    return Object.hasOwn(value, index) ? value[index] : undefined;
  }
  if (!Array.isArray(value) && typeof value !== 'string') throw new FunctionError(`can't index item of type ${typeName(value)}`);
  const at = position(index, lengthOf(value), 'index');
  return Array.isArray(value) ? value[at] : Buffer.from(value)[at];
}

/** Throws FunctionError for what is no place in a list of that length. */
function position(index: Value, length: number, verb: 'index' | 'slice'): number {
  if (isNothing(index)) throw new FunctionError(`cannot index slice/array with nil`);
  if (typeof index !== 'number' || !Number.isInteger(index))
    throw new FunctionError(`cannot index slice/array with type ${typeName(index)}`);
  if (index < 0 || index > length || (verb === 'index' && index === length))
    throw new FunctionError(`index out of range: ${index}`);
  return index;
}

function slice(value: Value, from: Value = 0, to?: Value): Value {
  if (isNothing(value)) throw new FunctionError('slice of untyped nil');
  if (!Array.isArray(value) && typeof value !== 'string') throw new FunctionError(`can't slice item of type ${typeName(value)}`);
  const length = lengthOf(value);
  const start = position(from, length, 'slice');
  const end = to === undefined ? length : position(to, length, 'slice');
  if (start > end) throw new FunctionError(`invalid slice index: ${start} > ${end}`);
  return Array.isArray(value) ? value.slice(start, end) : Buffer.from(value).subarray(start, end).toString('utf8');
}

function decodeBase64(value: string): string {
  const plain = value.replace(/[\r\n]/g, '');
  const bytes = Buffer.from(plain, 'base64');
  if (bytes.toString('base64') !== plain) throw new FunctionError('base64 decode failed: illegal base64 data');
  const decoded = bytes.toString('utf8');
  if (!Buffer.from(decoded).equals(bytes))
    throw new FunctionError('the decoded value is binary, no text; take it with -o jsonpath and "base64 -d"');
  return decoded;
}

function exists(value: Value, indices: readonly Value[]): boolean {
  let found = value;
  for (const index of indices) {
    if (Array.isArray(found) && typeof index === 'number') found = found[index];
    else if (isJsonObject(found) && typeof index === 'string') found = Object.hasOwn(found, index) ? found[index] : undefined;
    else return false;
    if (found === undefined) return false;
  }
  return true;
}

const htmlEscapes: Readonly<Record<string, string>> = {
  ...{ '"': '&#34;', "'": '&#39;', '&': '&amp;', '<': '&lt;', '>': '&gt;', '\0': '\uFFFD' },
};

function escapeHtml(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
  return value.replace(/["'&<>\u0000]/g, (character) => htmlEscapes[character]!);
}

function escapeScript(value: string): string {
  return value.replace(/[\\'"<>&=]|[^\P{C}]|[^\P{Z} ]/gu, (character) => {
    if ('\\\'"'.includes(character)) return `\\${character}`;
    const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).toUpperCase().padStart(4, '0')}`).join('');
  });
}

function escapeQuery(value: string): string {
  const hex = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(value.replace(/\p{Surrogate}/gu, '\uFFFD'))
    .replace(/[!'()*]/g, hex)
    .replaceAll('%20', '+');
}
