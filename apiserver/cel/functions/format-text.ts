import type { Budget } from '../budget.ts';
import { isList, isMap, itemsOf } from '../equality.ts';
import { failed, Uint, type Value } from '../values.ts';
import { readTexts } from './library.ts';
import { toText } from './standard.ts';

const CLAUSE = /%(?:\.(\d{1,3}))?([a-zA-Z%])/g;

/** `"%s of %d".format([name, count])`: %s %d %f %e %b %o %x %X, with a precision for %f and %e. */
export function formatText(template: string, values: readonly Value[], budget: Budget): string {
  readTexts(budget, template);
  let next = 0;
  let length = 0;
  const text = template.replaceAll(CLAUSE, (_all, precision: string | undefined, verb: string) => {
    if (verb === '%') return '%';
    const value = values[next++];
    if (value === undefined) return failed(`format(): there is no value for clause ${next}`);
    const written = clause(verb, value, precision === undefined ? 6 : Number(precision), budget);
    length += written.length;
    budget.take(1 + Math.ceil(written.length / 10));
    return written;
  });
  if (length > 1_000_000) failed('format(): the text is too long');
  return text;
}

function clause(verb: string, value: Value, precision: number, budget: Budget): string {
  const whole = value instanceof Uint ? value.value : value;
  switch (verb) {
    case 's':
      return shown(value, budget);
    case 'd':
      return typeof whole === 'bigint' || typeof whole === 'number' ? String(whole) : wrong(verb);
    case 'f':
      return number(whole, verb).toFixed(Math.min(precision, 100));
    case 'e':
      return number(whole, verb)
        .toExponential(Math.min(precision, 100))
        .replace(/e([+-])(\d)$/, 'e$10$2');
    case 'b':
      return typeof whole === 'boolean' ? String(Number(whole)) : integer(whole, verb).toString(2);
    case 'o':
      return integer(whole, verb).toString(8);
    case 'x':
    case 'X': {
      const hex = hexOf(whole, budget);
      return verb === 'X' ? hex.toUpperCase() : hex;
    }
    default:
      return failed(`format(): unrecognized formatting clause "%${verb}"`);
  }
}

function wrong(verb: string): never {
  return failed(`format(): the value has the wrong type for %${verb}`);
}

function number(value: Value, verb: string): number {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : wrong(verb);
}

function integer(value: Value, verb: string): bigint {
  return typeof value === 'bigint' ? value : wrong(verb);
}

function hexOf(value: Value, budget: Budget): string {
  if (typeof value === 'bigint') return value.toString(16);
  const given = typeof value === 'string' || value instanceof Uint8Array ? value : wrong('x');
  budget.take(Math.ceil(given.length / 5));
  return (typeof given === 'string' ? Buffer.from(given) : Buffer.from(given)).toString('hex');
}

function shown(value: Value, budget: Budget): string {
  budget.take(1);
  if (value === null) return 'null';
  if (isList(value))
    return joined(
      '[]',
      itemsOf(value, budget).map((item) => shown(item, budget)),
      budget,
    );
  if (isMap(value)) {
    const members = value.keys(budget).map((key) => `${shown(key, budget)}: ${shown(value.get(key, budget) ?? null, budget)}`);
    return joined('{}', members.sort(), budget);
  }
  if (typeof value === 'string') readTexts(budget, value);
  return toText(value, budget);
}

/** Parts within parts are written out again at every level. */
function joined([open, close]: string, parts: readonly string[], budget: Budget): string {
  const text = `${open}${parts.join(', ')}${close}`;
  readTexts(budget, text);
  return text;
}
