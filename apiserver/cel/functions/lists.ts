import type { Budget } from '../budget.ts';
import { compare, equal, isList, itemsOf, keyReader } from '../equality.ts';
import { BINARY } from '../operators.ts';
import { Duration, failed, type Value } from '../values.ts';
import type { Handler, Library } from './library.ts';
import { strings } from './strings.ts';

/** Types whose values have an order. */
const ORDERED = ['int', 'uint', 'double', 'bool', 'string', 'bytes', 'google.protobuf.Duration', 'google.protobuf.Timestamp'];
const SUMMED = ['int', 'uint', 'double', 'google.protobuf.Duration'];

/** Kubernetes' lists library. */
export const lists: Library = {
  name: 'lists',
  signatures: [
    ...ORDERED.flatMap((type) => [
      `list<${type}>.isSorted(): bool`,
      `list<${type}>.min(): ${type}`,
      `list<${type}>.max(): ${type}`,
    ]),
    ...SUMMED.map((type) => `list<${type}>.sum(): ${type}`),
    'list<A>.indexOf(A): int',
    'list<A>.lastIndexOf(A): int',
  ],
  handlers: {
    isSorted: ([list], budget) => {
      const items = listArg(list, budget);
      return items.every((item, at) => at === 0 || compare(items[at - 1]!, item, budget) <= 0);
    },
    min: ([list], budget) => extreme(listArg(list, budget), budget, -1),
    max: ([list], budget) => extreme(listArg(list, budget), budget, 1),
    sum: ([list], budget) => {
      const items = listArg(list, budget);
      const zero = typeof items[0] === 'number' ? 0 : items[0] instanceof Duration ? new Duration(0n) : 0n;
      return items.length === 0 ? zero : items.reduce((total, item) => BINARY['+']!(total, item, budget));
    },
    indexOf: (args, budget) => (isList(args[0]!) ? position(args, budget, false) : strings.handlers.indexOf!(args, budget)),
    lastIndexOf: (args, budget) =>
      isList(args[0]!) ? position(args, budget, true) : strings.handlers.lastIndexOf!(args, budget),
  },
};

export function listArg(value: Value | undefined, budget: Budget): readonly Value[] {
  if (value === undefined || !isList(value)) return failed('no such overload: the value must be a list');
  return itemsOf(value, budget);
}

function extreme(items: readonly Value[], budget: Budget, sign: 1 | -1): Value {
  if (items.length === 0) return failed(`${sign < 0 ? 'min' : 'max'} called on empty list`);
  return items.reduce((best, item) => (compare(item, best, budget) * sign > 0 ? item : best));
}

function position([list, item]: readonly Value[], budget: Budget, isLast: boolean): bigint {
  const items = listArg(list, budget);
  const matches = (each: Value) => equal(each, item!, budget);
  return BigInt(isLast ? items.findLastIndex(matches) : items.findIndex(matches));
}

function subset(a: Value | undefined, b: Value | undefined, budget: Budget): boolean {
  const keyOf = keyReader(undefined, budget);
  const all = new Set(listArg(a, budget).map(keyOf));
  return listArg(b, budget).every((item) => all.has(keyOf(item)));
}

const contains: Handler = ([a, b], budget) => subset(a, b, budget);

/** CEL's sets extension: lists without regard to order and repetition. */
export const sets: Library = {
  name: 'sets',
  namespaces: ['sets'],
  signatures: ['contains', 'equivalent', 'intersects'].map((name) => `SetsNamespace.${name}(list<dyn>, list<dyn>): bool`),
  handlers: {
    'sets.contains': contains,
    'sets.equivalent': ([a, b], budget) => subset(a, b, budget) && subset(b, a, budget),
    'sets.intersects': ([a, b], budget) => {
      const keyOf = keyReader(undefined, budget);
      const all = new Set(listArg(a, budget).map(keyOf));
      return listArg(b, budget).some((item) => all.has(keyOf(item)));
    },
  },
};
