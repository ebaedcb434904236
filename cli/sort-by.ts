import { isJsonObject, type Json, type JsonObject } from '../api/meta/merge-patch.ts';
import { compareQuantity, isQuantity } from '../api/meta/quantity.ts';
import { findAll } from './jsonpath/evaluate.ts';
import { type Path, parsePath } from './jsonpath/parse.ts';

/** Objects in order of the field that `--sort-by` names; those without it come first, equal ones stay in order. */
export function sortObjects(objects: readonly JsonObject[], path: Path): JsonObject[] {
  const keyed = objects.map((object) => ({ object, key: findAll(path, object)[0] ?? null }));
  return keyed.toSorted((a, b) => compare(a.key, b.key)).map(({ object }) => object);
}

/** Rows in the order of the objects that they show, by uid. */
export function sortRowsAs<Row extends { uid?: string }>(rows: readonly Row[], objects: readonly JsonObject[]): Row[] {
  const places = new Map(objects.map((object, at) => [uidOf(object), at]));
  const place = (row: Row): number => places.get(row.uid ?? '') ?? objects.length;
  return rows.toSorted((a, b) => place(a) - place(b));
}

/** Reads `--sort-by`: ".metadata.creationTimestamp", with or without braces. */
export function parseSortBy(text: string): Path {
  return parsePath(text);
}

function uidOf({ metadata }: JsonObject): string {
  return isJsonObject(metadata) && typeof metadata.uid === 'string' ? metadata.uid : '';
}

function compare(a: Json, b: Json): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [left, right] = [String(a), String(b)];
  if (isQuantity(left) && isQuantity(right)) return compareQuantity(left, right);
  return left < right ? -1 : Number(left > right);
}
