import type { FieldViolation } from '../../api/errors/index.ts';
import { isJsonObject, type Json } from '../../api/meta/merge-patch.ts';
import { entry, type Place, placeText } from './paths.ts';
import type { SchemaNode } from './schema-node.ts';
import { duplicateAt } from './schema-violations.ts';

/** Duplicates of one list that are reported. */
const REPORTED = 10;

/** The value of a list map's item's keys as one text; undefined for what is no object. */
export function mapKeyOf(item: Json, keys: readonly string[]): string | undefined {
  if (!isJsonObject(item)) return undefined;
  return JSON.stringify(keys.map((key) => (Object.hasOwn(item, key) ? item[key]! : null)));
}

/** A text that equal values have in common, in whatever order their members stand. */
export function canonicalText(value: Json): string {
  return JSON.stringify(value, (_name, part: unknown) => {
    if (!isJsonObject(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Items of a set that are equal, and items of a list map whose keys are. */
export function checkListKeys(list: readonly Json[], node: SchemaNode, place: Place | undefined): FieldViolation[] {
  const { listType, listMapKeys = [] } = node;
  if (listType !== 'set' && listType !== 'map') return [];
  const violations: FieldViolation[] = [];
  const seen = new Set<string>();
  for (const [at, item] of list.entries()) {
    const key = listType === 'set' ? canonicalText(item) : mapKeyOf(item, listMapKeys);
    if (key === undefined) continue;
    if (seen.has(key) && violations.length < REPORTED)
      violations.push(duplicateAt(placeText(entry(place, at)), listType === 'set' ? item : keysOnly(item, listMapKeys)));
    seen.add(key);
  }
  return violations;
}

function keysOnly(item: Json, keys: readonly string[]): Json {
  if (!isJsonObject(item)) return item;
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(item, key)).map((key) => [key, item[key]!]));
}
