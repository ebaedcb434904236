import { badRequest } from '../errors/constructors.ts';
import { invalidValue, required } from '../errors/violations.ts';
import type { FieldSet } from '../meta/field-set.ts';
import { isJsonObject, type Json } from '../meta/merge-patch.ts';
import type { ListMapType, SetType } from './field-type.ts';

// The steps of a path as FieldsV1 writes them: "f:NAME" a member, "k:{...}" an item by its keys, "v:..." a value of a
// set.

export const memberStep = (name: string): string => `f:${name}`;

/** The step to an item of a list, by its keys or its value; keys that an item lacks are left out. */
export function itemStep(type: ListMapType | SetType, item: Json): string {
  if (type.kind === 'set') return `v:${JSON.stringify(item)}`;
  const [only] = type.keys;
  const value = isJsonObject(item) ? item : {};
  const keyOf = (key: string): Json | undefined => {
    const own = Object.hasOwn(value, key) ? value[key] : undefined;
    return own === undefined || own === null ? type.defaults[key] : own;
  };
  if (type.keys.length === 1) return `k:${JSON.stringify({ [only!]: keyOf(only!) })}`;
  return `k:${JSON.stringify(Object.fromEntries(type.keys.map((key) => [key, keyOf(key)])))}`;
}

/** The items of a list by their steps, in its order; of items with the same step the first. */
export function itemsByStep(type: ListMapType | SetType, list: readonly Json[]): Map<string, Json> {
  const items = new Map<string, Json>();
  for (const item of list) {
    const step = itemStep(type, item);
    if (!items.has(step)) items.set(step, item);
  }
  return items;
}

/** The same of a list that a client applies. Throws INVALID_ARGUMENT for items that cannot be told apart. */
export function checkItems(type: ListMapType | SetType, list: readonly Json[], path: string): void {
  const seen = new Set<string>();
  list.forEach((item, index) => {
    if (type.kind === 'listMap') checkKeys(type, item, `${path}[${index}]`);
    const step = itemStep(type, item);
    if (seen.has(step)) {
      const why = `duplicate entries for key ${stepText(step)}`;
      const shown = typeof item === 'object' ? JSON.stringify(item) : item;
      throw badRequest(`cannot apply: ${path}: ${why}`, [invalidValue(`${path}[${index}]`.slice(1), shown, why)]);
    }
    seen.add(step);
  });
}

function checkKeys({ keys, defaults }: ListMapType, item: Json, path: string): void {
  if (!isJsonObject(item)) throw badRequest(`cannot apply: ${path}: expected an object with ${keys.join(' and ')}`);
  for (const key of keys) {
    if ((Object.hasOwn(item, key) && item[key] !== null) || Object.hasOwn(defaults, key)) continue;
    const why = `the items of this list are told apart by their ${keys.join(' and ')}`;
    throw badRequest(`cannot apply: ${path}.${key}: is required: ${why}`, [required(`${path}.${key}`.slice(1), why)]);
  }
}

/** A step as people write it: ".replicas", `[name="web"]`, `[="value"]`. */
export function stepText(step: string): string {
  const text = step.slice(2);
  if (step.startsWith('f:')) return `.${text}`;
  if (step.startsWith('v:')) return `[=${text}]`;
  if (!step.startsWith('k:')) return `[${text}]`;
  const keys = Object.entries(JSON.parse(text) as Record<string, Json>);
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}

/** The paths of all fields of a set, sorted by their steps: `.spec.containers[name="web"].image`. */
export function fieldPaths(fields: FieldSet, prefix = ''): string[] {
  return Object.keys(fields)
    .filter((step) => step !== '.')
    .sort()
    .flatMap((step) => {
      const [path, below] = [prefix + stepText(step), fields[step]!];
      const isNamed = Object.keys(below).length === 0 || Object.hasOwn(below, '.');
      return [...(isNamed ? [path] : []), ...fieldPaths(below, path)];
    });
}
