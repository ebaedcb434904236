import type { Quantity } from '../generated/types.ts';

/** A quantity in the in-memory form, or its text. */
export type QuantityLike = Quantity | string;

const NANO = 1_000_000_000n;
const NANOS_PER_MILLI = 1_000_000n;

/** Powers of ten and of two that the suffixes stand for. */
const DECIMAL = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const BINARY = new Map([
  ['Ki', 10n],
  ['Mi', 20n],
  ['Gi', 30n],
  ['Ti', 40n],
  ['Pi', 50n],
  ['Ei', 60n],
]);

/** What one of a suffix is in milli, by character code; plain and binary. For the fast path. */
const DECIMAL_MILLI = new Map(
  [
    ['m', 1],
    ['k', 1e6],
    ['M', 1e9],
    ['G', 1e12],
    ['T', 1e15],
  ].map(([name, milli]) => [code(name), Number(milli)]),
);
const BINARY_MILLI = new Map(
  [
    ['K', 10],
    ['M', 20],
    ['G', 30],
    ['T', 40],
  ].map(([name, shift]) => [code(name), 2 ** Number(shift) * 1000]),
);
const MAX_FAST_DIGITS = 12;

function code(character: string | number | undefined): number {
  return String(character).charCodeAt(0);
}

/** The fast path: a short integer with a usual suffix, in milli; NaN for everything else. */
function plainMilli(text: string): number {
  let [value, i] = [0, 0];
  for (; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  if (i === 0 || i > MAX_FAST_DIGITS) return Number.NaN;
  const milli = value * plainFactor(text, i);
  return milli <= Number.MAX_SAFE_INTEGER ? milli : Number.NaN;
}

function plainFactor(text: string, at: number): number {
  const suffix = text.length - at;
  if (suffix === 0) return 1000;
  if (suffix === 1) return DECIMAL_MILLI.get(text.charCodeAt(at)) ?? Number.NaN;
  return suffix === 2 && text[at + 1] === 'i' ? (BINARY_MILLI.get(text.charCodeAt(at)) ?? Number.NaN) : Number.NaN;
}

const FORM = /^([+-]?)(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)$/;
/** Longer numbers are refused: they are mistakes, and would cost time. */
const MAX_CHARACTERS = 64;
const MAX_EXPONENT = 30;

function textOf(quantity: QuantityLike | undefined): string {
  return typeof quantity === 'string' ? quantity : (quantity?.string ?? '0');
}

/**
 * The exact value in billionths, fractions of those rounded away from zero as Kubernetes does;
 * undefined when the text is no quantity.
 */
export function parseNanos(text: string): bigint | undefined {
  const parts = text.length <= MAX_CHARACTERS ? FORM.exec(text) : null;
  if (!parts) return undefined;
  const [whole = '', fraction = ''] = parts[2]!.split('.');
  const shift = BINARY.get(parts[4] ?? '');
  const exponent = parts[3] ? Number(parts[3].slice(1)) : (DECIMAL.get(parts[4] ?? '') ?? 0);
  if (Math.abs(exponent) > MAX_EXPONENT) return undefined;
  const digits = BigInt(whole + fraction) << (shift ?? 0n);
  const scale = exponent + 9 - fraction.length;
  const nanos = scale >= 0 ? digits * 10n ** BigInt(scale) : divideUp(digits, 10n ** BigInt(-scale));
  return parts[1] === '-' ? -nanos : nanos;
}

/** Division of a number that is not negative, rounded up. */
function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}

/** Rounded up, towards plus infinity: a request is never taken for less than it is. */
function ceilDivide(value: bigint, by: bigint): bigint {
  return value <= 0n ? value / by : divideUp(value, by);
}

/** Whether the text is a quantity: "100m", "1.5Gi", "1e3", "2". */
export function isQuantity(text: string): boolean {
  return !Number.isNaN(plainMilli(text)) || parseNanos(text) !== undefined;
}

/** Kubernetes keeps no more of an amount with a binary suffix. */
const MAX_BINARY = (2n ** 63n - 1n) * NANO;

/**
 * The text in which an amount is stored, as Kubernetes has it: the largest suffix that leaves an integer, of the kind
 * that was written (binary, decimal, an exponent). "0.5" is "500m", "1024Mi" is "1Gi", "1000" is "1k", "0.1e4" is
 * "1e3". Undefined for a text that is no quantity.
 */
export function storedQuantity(text: string): string | undefined {
  if (isStoredForm(text)) return text;
  const nanos = parseNanos(text);
  if (nanos === undefined || nanos === 0n) return nanos === undefined ? undefined : '0';
  if (text.endsWith('i')) return storedBinary(nanos > MAX_BINARY ? MAX_BINARY : nanos < -MAX_BINARY ? -MAX_BINARY : nanos);
  if (!/[eE]./.test(text)) return formatNanos(nanos, false);
  let exponent = MAX_EXPONENT;
  while (nanos % 10n ** BigInt(exponent + 9) !== 0n) exponent -= 3;
  return `${nanos / 10n ** BigInt(exponent + 9)}${exponent === 0 ? '' : `e${exponent}`}`;
}

/**
 * Kubernetes keeps "960000" of "937.5Ki", and "960k" once that is written again: it is "960k" at once here, so that an
 * object that is read and written back stays as it is.
 */
function storedBinary(nanos: bigint): string {
  const text = formatNanos(nanos, true);
  return text.endsWith('i') ? text : formatNanos(nanos, false);
}

/** The fast path: an integer without a superfluous zero, and a usual suffix. False for some that are in their form. */
function isStoredForm(text: string): boolean {
  let [value, i] = [0, 0];
  for (; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  if (i === 0 || i > MAX_FAST_DIGITS) return false;
  if (text[0] === '0') return text === '0';
  if (i === text.length) return value % 1000 !== 0;
  if (i + 1 === text.length) return value % 1000 !== 0 && DECIMAL.has(text[i]!);
  return i + 2 === text.length && text[i + 1] === 'i' && value % 1024 !== 0 && BINARY_MILLI.has(text.charCodeAt(i));
}

/** A quantity taken apart. Throws RangeError for a text that is none. */
export function parseQuantity(quantity: QuantityLike | undefined): { readonly nanos: bigint; readonly milli: bigint } {
  const nanos = nanosOf(quantity);
  return { nanos, milli: ceilDivide(nanos, NANOS_PER_MILLI) };
}

function nanosOf(quantity: QuantityLike | undefined): bigint {
  const text = textOf(quantity);
  const nanos = parseNanos(text);
  if (nanos === undefined)
    throw new RangeError(`"${text}" is not a quantity: write a number with a suffix such as m, k, M, Mi, Gi`);
  return nanos;
}

/** In thousandths, rounded up; absent is 0. For CPU. Throws RangeError for a text that is no quantity. */
export function quantityMilli(quantity: QuantityLike | undefined): number {
  if (quantity === undefined) return 0;
  const text = textOf(quantity);
  const milli = plainMilli(text);
  return Number.isNaN(milli) ? Number(ceilDivide(nanosOf(text), NANOS_PER_MILLI)) : milli;
}

/** In whole units (bytes, pods), rounded up; absent is 0. Throws RangeError for a text that is no quantity. */
export function quantityValue(quantity: QuantityLike | undefined): number {
  if (quantity === undefined) return 0;
  const text = textOf(quantity);
  const milli = plainMilli(text);
  return Number.isNaN(milli) ? Number(ceilDivide(nanosOf(text), NANO)) : Math.ceil(milli / 1000);
}

/** Negative, zero or positive as `a` is less than, equal to or more than `b`; exact. Absent is 0. */
export function compareQuantity(a: QuantityLike | undefined, b: QuantityLike | undefined): number {
  const difference = plainMilli(textOf(a)) - plainMilli(textOf(b));
  if (!Number.isNaN(difference)) return difference;
  const [left, right] = [nanosOf(a), nanosOf(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether both say the same amount: "1", "1000m" and "1e0" do. */
export function equalQuantity(a: QuantityLike | undefined, b: QuantityLike | undefined): boolean {
  return textOf(a) === textOf(b) || compareQuantity(a, b) === 0;
}

/** The exact sum, written with the suffixes of `a` (binary or decimal). */
export function addQuantity(a: QuantityLike | undefined, b: QuantityLike | undefined): Quantity {
  return { string: formatNanos(nanosOf(a) + nanosOf(b), isBinary(a) || (isZero(a) && isBinary(b))) };
}

/** The exact difference, written with the suffixes of `a`. */
export function subtractQuantity(a: QuantityLike | undefined, b: QuantityLike | undefined): Quantity {
  return { string: formatNanos(nanosOf(a) - nanosOf(b), isBinary(a)) };
}

/** The one text for an amount: the largest suffix that leaves an integer. "1000m" is "1", "1024Ki" is "1Mi". */
export function canonicalQuantity(quantity: QuantityLike): string {
  return formatNanos(nanosOf(quantity), isBinary(quantity));
}

function isBinary(quantity: QuantityLike | undefined): boolean {
  return textOf(quantity).endsWith('i');
}

function isZero(quantity: QuantityLike | undefined): boolean {
  return quantity === undefined || nanosOf(quantity) === 0n;
}

function formatNanos(nanos: bigint, binary: boolean): string {
  if (binary && nanos % NANO === 0n && (nanos >= 1024n * NANO || nanos <= -1024n * NANO)) {
    let [value, suffix] = [nanos / NANO, ''];
    for (const [name, shift] of BINARY)
      if ((nanos / NANO) % (1n << shift) === 0n) [value, suffix] = [nanos / NANO / (1n << shift), name];
    return `${value}${suffix}`;
  }
  if (nanos === 0n) return '0';
  for (const [suffix, exponent] of [...DECIMAL].reverse()) {
    const unit = 10n ** BigInt(exponent + 9);
    if (nanos % unit === 0n) return `${nanos / unit}${suffix}`;
  }
  return `${nanos}n`;
}

/** CPU as a quantity, as it is stored: 250 is "250m", 2000 is "2". */
export function formatCpu(milli: number): string {
  const whole = Math.round(milli);
  return stored(whole % 1000 === 0 ? String(whole / 1000) : `${whole}m`);
}

/**
 * Bytes as a quantity, as it is stored, with the largest binary suffix that leaves an integer: 1048576 is "1Mi", 1500
 * is "1500", 2000 is "2k".
 */
export function formatMemory(bytes: number): string {
  const whole = Math.round(bytes);
  let [value, suffix] = [whole, ''];
  for (const [name, shift] of BINARY)
    if (whole !== 0 && whole % 2 ** Number(shift) === 0) [value, suffix] = [whole / 2 ** Number(shift), name];
  return stored(`${value}${suffix}`);
}

const stored = (text: string): string => storedQuantity(text) ?? text;

/**
 * A whole number as a quantity, the shorter of the binary and the decimal text: 1073741824 is "1Gi", 128000000 "128M".
 */
export function formatWhole(amount: number): string {
  const [binary, decimal] = [formatMemory(amount), canonicalQuantity(String(Math.round(amount)))];
  return decimal.length < binary.length ? decimal : binary;
}
