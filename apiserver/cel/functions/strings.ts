import type { Budget } from '../budget.ts';
import { isList, itemsOf } from '../equality.ts';
import { failed, type Value } from '../values.ts';
import { formatText } from './format-text.ts';
import { intArg, type Library, readTexts, searchText, textArg } from './library.ts';

/** Parts that split() makes. */
const PARTS = 100_000;

/** The strings extension of CEL, version 2; positions count code points. */
export const strings: Library = {
  name: 'strings',
  namespaces: ['strings'],
  signatures: [
    'string.charAt(int): string',
    'string.replace(string, string): string',
    'string.replace(string, string, int): string',
    'string.reverse(): string',
    'string.format(list<dyn>): string',
    'StringsNamespace.quote(string): string',
  ],
  handlers: {
    charAt: ([text, at], budget) => {
      const points = pointsOf(text, budget);
      return points.slice(...range(intArg(at), intArg(at) + 1n, points.length, true)).join('');
    },
    indexOf: (args, budget) => textIndex(args, budget, 'indexOf'),
    lastIndexOf: (args, budget) => textIndex(args, budget, 'lastIndexOf'),
    lowerAscii: ([text], budget) => mapLetters(text, budget, (each) => each.replaceAll(/[A-Z]+/g, (part) => part.toLowerCase())),
    upperAscii: ([text], budget) => mapLetters(text, budget, (each) => each.replaceAll(/[a-z]+/g, (part) => part.toUpperCase())),
    trim: ([text], budget) => mapText(text, budget, (each) => each.trim()),
    reverse: ([text], budget) => pointsOf(text, budget).reverse().join(''),
    replace: replaceText,
    split: splitText,
    join: joinTexts,
    substring: ([text, start, end], budget) => {
      const points = pointsOf(text, budget);
      return points
        .slice(...range(intArg(start), end === undefined ? BigInt(points.length) : intArg(end), points.length))
        .join('');
    },
    format: ([text, values], budget) => {
      if (values === undefined || !isList(values)) return failed('no such overload: format() needs a list');
      return formatText(textArg(text), itemsOf(values, budget), budget);
    },
    'strings.quote': ([text], budget) => mapText(text, budget, (each) => JSON.stringify(each)),
  },
};

function mapText(text: Value | undefined, budget: Budget, change: (text: string) => string): string {
  const plain = textArg(text);
  readTexts(budget, plain);
  return change(plain);
}

/** Letters are changed in pieces, which may be single ones. */
function mapLetters(text: Value | undefined, budget: Budget, change: (text: string) => string): string {
  const plain = textArg(text);
  budget.take(Math.ceil(plain.length / 4));
  return change(plain);
}

function pointsOf(text: Value | undefined, budget: Budget): string[] {
  const plain = textArg(text);
  budget.take(Math.ceil(plain.length / 4));
  return [...plain];
}

/** A start and an end within a text; the position behind the last character is one, too. */
function range(start: bigint, end: bigint, length: number, isPosition = false): [number, number] {
  if (start < 0n || end < start || start > BigInt(length) || (!isPosition && end > BigInt(length)))
    failed(`index out of range: ${start}`);
  return [Number(start), Number(end)];
}

function textIndex([text, part, from]: readonly Value[], budget: Budget, name: 'indexOf' | 'lastIndexOf'): bigint {
  const [plain, wanted] = [textArg(text), textArg(part)];
  const points = pointsOf(plain, budget);
  searchText(budget, plain, wanted);
  const start = from === undefined ? undefined : Number(intArg(from));
  if (start !== undefined && (start < 0 || start > points.length)) failed(`index out of range: ${start}`);
  const unitStart = start === undefined ? undefined : points.slice(0, start).join('').length;
  const found = name === 'indexOf' ? plain.indexOf(wanted, unitStart) : plain.lastIndexOf(wanted, unitStart);
  return found < 0 ? -1n : BigInt([...plain.slice(0, found)].length);
}

function replaceText([text, old, replacement, most]: readonly Value[], budget: Budget): string {
  const [plain, from, to] = [textArg(text), textArg(old), textArg(replacement)];
  searchText(budget, plain, from);
  const limit = most === undefined ? -1 : Number(intArg(most));
  const parts = plain.split(from, PARTS + 1);
  if (parts.length > PARTS) failed('replace() has too much to replace');
  if (limit >= 0 && parts.length > limit + 1) parts.splice(limit, parts.length, parts.slice(limit).join(from));
  budget.take(parts.length + Math.ceil((parts.length * to.length) / 10));
  return parts.join(to);
}

function splitText([text, separator, most]: readonly Value[], budget: Budget): Value {
  const [plain, by] = [textArg(text), textArg(separator)];
  searchText(budget, plain, by);
  const limit = most === undefined ? -1 : Number(intArg(most));
  if (limit === 0) return [];
  const parts = plain.split(by, PARTS + 1);
  if (parts.length > PARTS) failed('split() makes too many parts');
  budget.take(parts.length);
  if (limit > 0 && parts.length > limit) parts.splice(limit - 1, parts.length, parts.slice(limit - 1).join(by));
  return parts;
}

function joinTexts([list, separator]: readonly Value[], budget: Budget): string {
  if (list === undefined || !isList(list)) return failed('no such overload: join() needs a list');
  const by = separator === undefined ? '' : textArg(separator);
  const texts = itemsOf(list, budget).map(textArg);
  budget.take(Math.ceil((texts.length * by.length) / 10));
  for (const text of texts) readTexts(budget, text);
  return texts.join(by);
}
