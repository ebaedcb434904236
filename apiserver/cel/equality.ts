import type { Budget } from './budget.ts';
import {
  CelError,
  Duration,
  ListView,
  MapValue,
  ObjectView,
  Opaque,
  Optional,
  Timestamp,
  TypeName,
  Uint,
  type Value,
} from './values.ts';

/** Steps of writing a value of Kubernetes' own types as text. */
export const OPAQUE_STEPS = 20;

export function isList(value: Value): value is readonly Value[] | ListView {
  return Array.isArray(value) || value instanceof ListView;
}

/** All items of a list; takes a step for each, before it makes values of them. */
export function itemsOf(list: readonly Value[] | ListView, budget: Budget): readonly Value[] {
  budget.take(lengthOf(list));
  return list instanceof ListView ? list.json.map((_item, at) => list.at(at, budget)!) : list;
}

/** One item of a list, without making values of the others; undefined where there is none. */
export function itemAt(list: readonly Value[] | ListView, at: number, budget: Budget): Value | undefined {
  return list instanceof ListView ? list.at(at, budget) : list[at];
}

/** How many items a list has, without making values of them. */
export function lengthOf(list: readonly Value[] | ListView): number {
  return list instanceof ListView ? list.json.length : list.length;
}

export function isMap(value: Value): value is ObjectView | MapValue {
  return value instanceof ObjectView || value instanceof MapValue;
}

/** How many keys a map has. */
export function sizeOfMap(map: ObjectView | MapValue, budget: Budget): number {
  return map instanceof MapValue ? map.size : map.keys(budget).length;
}

/**
 * Whether two values are equal, as CEL has it: numbers by what they say, whatever their type; values of different types
 * never. Lists that are sets or maps in the schema are equal in whatever order their items stand.
 */
export function equal(a: Value, b: Value, budget: Budget): boolean {
  budget.take(1);
  if (typeof a === 'string' && typeof b === 'string') {
    budget.take(Math.ceil(Math.min(a.length, b.length) / 64));
    return a === b;
  }
  const [numberA, numberB] = [numberOf(a), numberOf(b)];
  if (numberA !== undefined && numberB !== undefined) return numberA === numberB || Number(numberA) === numberB;
  if (isList(a) && isList(b)) return equalLists(a, b, budget);
  if (isMap(a) && isMap(b)) return equalMaps(a, b, budget);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b, budget) === 0;
  if (a instanceof Duration && b instanceof Duration) return a.nanoseconds === b.nanoseconds;
  if (a instanceof Timestamp && b instanceof Timestamp) return a.nanoseconds === b.nanoseconds;
  if (a instanceof Optional && b instanceof Optional) {
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return equal(a.value, b.value, budget);
  }
  if (a instanceof TypeName && b instanceof TypeName) return a.name === b.name;
  if (a instanceof Opaque || b instanceof Opaque) budget.take(OPAQUE_STEPS);
  if (a instanceof Opaque && b instanceof Opaque) return a.typeName === b.typeName && a.identity === b.identity;
  return a === b;
}

function numberOf(value: Value): bigint | number | undefined {
  if (value instanceof Uint) return value.value;
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? BigInt(value) : value;
  return typeof value === 'bigint' ? value : undefined;
}

function equalLists(a: readonly Value[] | ListView, b: readonly Value[] | ListView, budget: Budget): boolean {
  if (lengthOf(a) !== lengthOf(b)) return false;
  const node = a instanceof ListView ? a.node : b instanceof ListView ? b.node : undefined;
  if (node?.listType === 'set' || node?.listType === 'map') {
    const keyOf = keyReader(node.listType === 'map' ? node.listMapKeys : undefined, budget);
    const byKey = new Map(itemsOf(b, budget).map((item) => [keyOf(item), item]));
    return itemsOf(a, budget).every((item) => {
      const other = byKey.get(keyOf(item));
      return other !== undefined && equal(item, other, budget);
    });
  }
  for (let at = 0; at < lengthOf(a); at++) if (!equal(itemAt(a, at, budget)!, itemAt(b, at, budget)!, budget)) return false;
  return true;
}

/** What tells the items of a set, or of a list map, apart. */
export function keyReader(keys: readonly string[] | undefined, budget: Budget): (item: Value) => string {
  return (item) => {
    if (keys === undefined || !isMap(item)) return identityOf(item, budget);
    return keys.map((key) => identityOf(item.get(key, budget) ?? null, budget)).join();
  };
}

/** A text that equal values have in common. */
export function identityOf(value: Value, budget: Budget): string {
  budget.take(1);
  const number = numberOf(value);
  if (number !== undefined) return String(number);
  if (typeof value === 'string') {
    budget.take(Math.ceil(value.length / 16));
    return JSON.stringify(value);
  }
  if (isList(value))
    return joined(
      '[]',
      itemsOf(value, budget).map((item) => identityOf(item, budget)),
      budget,
    );
  if (isMap(value)) {
    const members = value
      .keys(budget)
      .map((key) => `${identityOf(key, budget)}:${identityOf(value.get(key, budget) ?? null, budget)}`);
    return joined('{}', members.sort(), budget);
  }
  if (value instanceof Uint8Array) {
    budget.take(Math.ceil(value.length / 16));
    return `bytes(${Buffer.from(value).toString('base64')})`;
  }
  if (value instanceof Duration || value instanceof Timestamp) return `${value.constructor.name}(${value.nanoseconds})`;
  if (value instanceof Opaque) {
    budget.take(OPAQUE_STEPS);
    return `${value.typeName}(${value.identity})`;
  }
  if (value instanceof Optional) return `optional(${value.value === undefined ? '' : identityOf(value.value, budget)})`;
  if (value instanceof TypeName) return `type(${value.name})`;
  return String(value);
}

/** Parts within parts are written out again at every level. */
function joined([open, close]: string, parts: readonly string[], budget: Budget): string {
  const text = `${open}${parts.join()}${close}`;
  budget.take(Math.ceil(text.length / 64));
  return text;
}

function equalMaps(a: ObjectView | MapValue, b: ObjectView | MapValue, budget: Budget): boolean {
  const keys = a.keys(budget);
  if (keys.length !== sizeOfMap(b, budget)) return false;
  return keys.every((key) => {
    const [inA, inB] = [a.get(key, budget), b.get(key, budget)];
    if (inA === undefined || inB === undefined) return inA === inB;
    return equal(inA, inB, budget);
  });
}

/** Negative, zero or positive; only of values that have an order, and of the same kind. */
export function compare(a: Value, b: Value, budget: Budget): number {
  budget.take(1);
  const [numberA, numberB] = [numberOf(a), numberOf(b)];
  if (numberA !== undefined && numberB !== undefined) return numberA < numberB ? -1 : numberA > numberB ? 1 : 0;
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b, budget);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Duration && b instanceof Duration) return Number(a.nanoseconds - b.nanoseconds);
  if (a instanceof Timestamp && b instanceof Timestamp) return Number(a.nanoseconds - b.nanoseconds);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b, budget);
  throw new CelError(`no such overload: the values cannot be compared`);
}

/** By code points, as Kubernetes orders texts. */
function compareTexts(a: string, b: string, budget: Budget): number {
  budget.take(Math.ceil(Math.min(a.length, b.length) / 32));
  if (a === b) return 0;
  let at = 0;
  while (at < a.length && at < b.length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at > 0 && (a.charCodeAt(at - 1) & 0xfc00) === 0xd800) at--;
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
}

function compareBytes(a: Uint8Array, b: Uint8Array, budget: Budget): number {
  budget.take(Math.ceil(Math.min(a.length, b.length) / 64));
  return Buffer.compare(a, b);
}
