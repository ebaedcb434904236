import { isJsonObject, type Json } from '../../api/meta/merge-patch.ts';
import { quote } from './quoted.ts';

/** What a template works with: JSON, and what is not there. */
export type Value = Json | undefined;

/** As Go's %v prints a value. */
export function formatValue(value: Value): string {
  if (value === undefined || value === null) return '<nil>';
  if (typeof value === 'number') return formatNumber(value);
  if (Array.isArray(value)) return `[${value.map(formatValue).join(' ')}]`;
  if (isJsonObject(value)) return `map[${sortedEntries(value, (key, inner) => `${key}:${formatValue(inner)}`).join(' ')}]`;
  return String(value);
}

/** The members of an object in the order of their names, as Go's range and print have them. */
export function sortedEntries<T>(object: { readonly [key: string]: Json }, use: (key: string, value: Json) => T): T[] {
  const keys = Object.keys(object).sort((a, b) => (a < b ? -1 : Number(a > b)));
  return keys.map((key) => use(key, object[key] as Json));
}

function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  return value !== 0 && Math.abs(value) < 1e-4 ? goExponent(value.toExponential()) : String(value);
}

/** Go's exponents have two digits at least. */
function goExponent(text: string): string {
  return text.replace(/e([+-])(\d)$/, 'e$10$2');
}

/** The type of a value in Go's words, for messages and %T. */
export function typeName(value: Value): string {
  if (value === undefined || value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'object') return 'map[string]interface {}';
  return { string: 'string', boolean: 'bool', number: Number.isInteger(value) ? 'int' : 'float64' }[typeof value as 'string'];
}

/** As Go's Sprint: a space between two values of which neither is a text. */
export function sprint(values: readonly Value[]): string {
  return values
    .map((value, at) => {
      const isApart = at > 0 && typeof value !== 'string' && typeof values[at - 1] !== 'string';
      return (isApart ? ' ' : '') + formatValue(value);
    })
    .join('');
}

interface Directive {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
  readonly verb: string;
}

const DIRECTIVE = /%([+\-# 0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(.)?/gsu;
/** Wider than that no column is. */
const maxWidth = 1_000;

/** As Go's Sprintf, for the verbs that JSON's values have. What does not fit is said in the text, as Go says it. */
export function sprintf(format: string, values: readonly Value[]): string {
  let next = 0;
  const number = (text: string | undefined): number | undefined =>
    text === '*' ? Number(values[next++]) : text === undefined ? undefined : Number(text);
  const text = format.replace(DIRECTIVE, (all: string, flags: string, width?: string, precise?: string, verb?: string) => {
    if (verb === undefined) return '%!(NOVERB)';
    if (verb === '%') return '%';
    const wide = number(width) ?? 0;
    const precision = number(precise) ?? (/\.[^\d*]/.test(all) ? 0 : undefined);
    if (!(Math.abs(wide) <= maxWidth)) return '%!(BADWIDTH)';
    if (precision !== undefined && !(precision >= 0 && precision <= 100)) return '%!(BADPREC)';
    if (next >= values.length) return `%!${verb}(MISSING)`;
    const left = wide < 0 ? '-' : '';
    return formatOne({ flags: flags + left, width: Math.abs(wide), precision, verb }, values[next++]);
  });
  const extra = values.slice(next).map((value) => `${typeName(value)}=${formatValue(value)}`);
  return extra.length === 0 ? text : `${text}%!(EXTRA ${extra.join(', ')})`;
}

function formatOne(directive: Directive, value: Value): string {
  const { verb, flags, width } = directive;
  const text = verbText(directive, value);
  if (text === undefined)
    return `%!${verb}(${value === undefined || value === null ? '' : `${typeName(value)}=`}${formatValue(value)})`;
  const missing = width - [...text].length;
  if (missing <= 0) return text;
  if (flags.includes('-')) return text + ' '.repeat(missing);
  if (!flags.includes('0') || typeof value !== 'number') return ' '.repeat(missing) + text;
  return text.replace(/^[+-]?/, (sign) => sign + '0'.repeat(missing));
}

/** Undefined where the verb is not for such a value. Lists and objects print each of their values so. */
function verbText({ verb, flags, precision }: Directive, value: Value): string | undefined {
  if (verb === 'v') return flags.includes('#') ? JSON.stringify(value ?? null) : formatValue(value);
  if (verb === 'T') return typeName(value);
  const inner = (each: Value): string => formatOne({ verb, flags, precision, width: 0 }, each);
  if (Array.isArray(value)) return `[${value.map(inner).join(' ')}]`;
  if (isJsonObject(value)) return `map[${sortedEntries(value, (key, each) => `${inner(key)}:${inner(each)}`).join(' ')}]`;
  if (typeof value === 'boolean') return verb === 't' ? String(value) : undefined;
  if (typeof value === 'string') return stringText(verb, value, precision);
  return typeof value === 'number' ? numberText(verb, value, { flags, precision }) : undefined;
}

function stringText(verb: string, value: string, precision: number | undefined): string | undefined {
  const text = precision === undefined ? value : [...value].slice(0, precision).join('');
  switch (verb) {
    case 's':
      return text;
    case 'q':
      return quote(text);
    case 'x':
    case 'X': {
      const hex = Buffer.from(text).toString('hex');
      return verb === 'x' ? hex : hex.toUpperCase();
    }
    default:
      return undefined;
  }
}

const bases: Readonly<Record<string, number>> = { b: 2, o: 8, d: 10, x: 16, X: 16 };

/** Numbers of JSON are not told apart by how they were written: 3 is a whole number and a fraction as well. */
function numberText(
  verb: string,
  value: number,
  { flags, precision }: Pick<Directive, 'flags' | 'precision'>,
): string | undefined {
  const signed = (text: string): string => (value >= 0 && flags.includes('+') ? `+${text}` : text);
  const base = bases[verb];
  if (base !== undefined) {
    if (!Number.isInteger(value)) return undefined;
    const text = base === 10 ? BigInt(value).toString() : value.toString(base);
    return signed(verb === 'X' ? text.toUpperCase() : text);
  }
  switch (verb) {
    case 'f':
    case 'F':
      return signed(value.toFixed(precision ?? 6));
    case 'e':
    case 'E': {
      const text = goExponent(value.toExponential(precision ?? 6));
      return signed(verb === 'E' ? text.toUpperCase() : text);
    }
    case 'g':
    case 'G':
      return signed(precision === undefined ? formatNumber(value) : formatNumber(Number(value.toPrecision(precision || 1))));
    case 'c':
      return Number.isInteger(value) && value >= 0 && value <= 0x10ffff ? String.fromCodePoint(value) : undefined;
    case 'q':
      return Number.isInteger(value) && value >= 0 && value <= 0x10ffff ? `'${String.fromCodePoint(value)}'` : undefined;
    default:
      return undefined;
  }
}
