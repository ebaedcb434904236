import type { Budget } from './budget.ts';
import { compare, equal, isList, isMap, itemAt, itemsOf, keyReader, lengthOf } from './equality.ts';
import { CelError, Duration, failed, ListView, Optional, Timestamp, Uint, type Value } from './values.ts';

type Binary = (a: Value, b: Value, budget: Budget) => Value;

const INT = { least: -(2n ** 63n), most: 2n ** 63n - 1n };
/** The years 1 to 9999. */
const TIME = { least: -62_135_596_800n * 10n ** 9n, most: 253_402_300_800n * 10n ** 9n - 1n };
const UINT = { least: 0n, most: 2n ** 64n - 1n };

export const BINARY: Readonly<Record<string, Binary>> = {
  '==': equal,
  '!=': (a, b, budget) => !equal(a, b, budget),
  '<': (a, b, budget) => isOrdered(a, b) && compare(a, b, budget) < 0,
  '<=': (a, b, budget) => isOrdered(a, b) && compare(a, b, budget) <= 0,
  '>': (a, b, budget) => isOrdered(a, b) && compare(a, b, budget) > 0,
  '>=': (a, b, budget) => isOrdered(a, b) && compare(a, b, budget) >= 0,
  in: contains,
  '+': add,
  '-': (a, b) => {
    if (a instanceof Timestamp && b instanceof Timestamp) return new Duration(ranged(a.nanoseconds - b.nanoseconds, INT));
    if (a instanceof Timestamp && b instanceof Duration) return new Timestamp(ranged(a.nanoseconds - b.nanoseconds, TIME));
    if (a instanceof Duration && b instanceof Duration) return new Duration(ranged(a.nanoseconds - b.nanoseconds, INT));
    return arithmetic(a, b, '-', { whole: (x, y) => x - y, real: (x, y) => x - y });
  },
  '*': (a, b) => arithmetic(a, b, '*', { whole: (x, y) => x * y, real: (x, y) => x * y }),
  '/': (a, b) => arithmetic(a, b, '/', { whole: (x, y) => x / notZero(y, 'division by zero'), real: (x, y) => x / y }),
  '%': (a, b) => arithmetic(a, b, '%', { whole: (x, y) => x % notZero(y, 'modulus by zero'), real: () => noOverload('%') }),
};

interface Arithmetic {
  readonly whole: (a: bigint, b: bigint) => bigint;
  readonly real: (a: number, b: number) => number;
}

function arithmetic(a: Value, b: Value, operator: string, { whole, real }: Arithmetic): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return ranged(whole(a, b), INT);
  if (typeof a === 'number' && typeof b === 'number') return real(a, b);
  if (a instanceof Uint && b instanceof Uint) return new Uint(ranged(whole(a.value, b.value), UINT));
  return noOverload(operator);
}

function noOverload(operator: string): never {
  throw new CelError(`no such overload: values of these types have no ${operator}`);
}

function ranged(value: bigint, { least, most }: { least: bigint; most: bigint }): bigint {
  return value < least || value > most ? failed('integer overflow') : value;
}

function notZero(value: bigint, why: string): bigint {
  return value === 0n ? failed(why) : value;
}

/** Comparisons with NaN are false. */
function isOrdered(a: Value, b: Value): boolean {
  return !(Number.isNaN(a) || Number.isNaN(b));
}

function add(a: Value, b: Value, budget: Budget): Value {
  if (typeof a === 'string' && typeof b === 'string') {
    budget.take(Math.ceil((a.length + b.length) / 10));
    return a + b;
  }
  if (isList(a) && isList(b)) return addLists(a, b, budget);
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    budget.take(Math.ceil((a.length + b.length) / 10));
    return Buffer.concat([a, b]);
  }
  if (a instanceof Duration && b instanceof Duration) return new Duration(ranged(a.nanoseconds + b.nanoseconds, INT));
  if (a instanceof Timestamp && b instanceof Duration) return new Timestamp(ranged(a.nanoseconds + b.nanoseconds, TIME));
  if (a instanceof Duration && b instanceof Timestamp) return new Timestamp(ranged(a.nanoseconds + b.nanoseconds, TIME));
  return arithmetic(a, b, '+', { whole: (x, y) => x + y, real: (x, y) => x + y });
}

/** Sets are united; of list maps, items of the second list take the place of those with the same keys. */
function addLists(a: readonly Value[] | ListView, b: readonly Value[] | ListView, budget: Budget): Value {
  const items = [...itemsOf(a, budget), ...itemsOf(b, budget)];
  const node = a instanceof ListView ? a.node : undefined;
  if (node?.listType !== 'set' && node?.listType !== 'map') return items;
  const keyOf = keyReader(node.listType === 'map' ? node.listMapKeys : undefined, budget);
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}

function contains(item: Value, collection: Value, budget: Budget): boolean {
  if (isMap(collection)) return collection.get(item, budget) !== undefined;
  if (!isList(collection)) return noOverload('in');
  budget.take(lengthOf(collection));
  for (let at = 0; at < lengthOf(collection); at++) if (equal(itemAt(collection, at, budget)!, item, budget)) return true;
  return false;
}

export function negate(value: Value): Value {
  if (typeof value === 'bigint') return ranged(-value, INT);
  if (typeof value === 'number') return -value;
  return value instanceof Duration ? new Duration(-value.nanoseconds) : noOverload('-');
}

/** What stands under a key or at an index; undefined where nothing does. */
export function lookUp(collection: Value, key: Value, budget: Budget): Value | undefined {
  if (isMap(collection)) return collection.get(key, budget);
  if (!isList(collection)) throw new CelError('no such overload: only lists, maps and objects have parts');
  const at = key instanceof Uint ? Number(key.value) : typeof key === 'bigint' || typeof key === 'number' ? Number(key) : -1;
  return Number.isInteger(at) && at >= 0 ? itemAt(collection, at, budget) : undefined;
}

/** The part of a value; of an optional value, an optional part. */
export function select(collection: Value, key: Value, budget: Budget): Value {
  if (collection instanceof Optional) return selectOptional(collection, key, budget);
  return lookUp(collection, key, budget) ?? noPart(collection, key);
}

export function selectOptional(collection: Value, key: Value, budget: Budget): Value {
  const inner = collection instanceof Optional ? collection.value : collection;
  const value = inner === undefined ? undefined : lookUp(inner, key, budget);
  return value === undefined ? Optional.none : new Optional(value);
}

function noPart(collection: Value, key: Value): never {
  const shown =
    typeof key === 'string' ? key.slice(0, 100) : key instanceof Uint ? key.value : typeof key === 'object' ? '' : key;
  throw new CelError(isList(collection) ? `index out of bounds: ${shown}` : `no such key: ${shown}`);
}
