import { findAll } from '../../api/jsonpath/evaluate.ts';
import { type Path, parsePath } from '../../api/jsonpath/parse.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { compareQuantity, isQuantity } from '../../api/meta/quantity.ts';

/** The order of the field that `--sort-by` names. */
export class SortOrder {
  readonly #path: Path;
  readonly #text: string;
  readonly #kinds = new Set<string>();
  #found = false;

  /** Takes ".metadata.creationTimestamp", with or without braces. Throws INVALID_ARGUMENT for what is no path. */
  constructor(text: string) {
    this.#path = parsePath(text);
    this.#text = text;
  }

  /** Objects in order; those without the field come first, equal ones stay in order. */
  objects(objects: readonly JsonObject[]): JsonObject[] {
    const keyed = objects.map((object) => ({ object, key: findAll(this.#path, object)[0] }));
    for (const { object, key } of keyed) {
      this.#found ||= key !== undefined;
      this.#kinds.add(String(object.kind));
    }
    return keyed.toSorted((a, b) => compare(a.key ?? null, b.key ?? null)).map(({ object }) => object);
  }

  /** Rows in the order of the objects that they show, by uid. */
  rows<Row extends { uid?: string }>(rows: readonly Row[], objects: readonly JsonObject[]): Row[] {
    const places = new Map(this.objects(objects).map((object, at) => [uidOf(object), at]));
    const place = (row: Row): number => places.get(row.uid ?? '') ?? objects.length;
    return rows.toSorted((a, b) => place(a) - place(b));
  }

  /** Throws INVALID_ARGUMENT when none of the objects so far has the field and their kinds do not know it either. */
  async check(): Promise<void> {
    if (this.#found || this.#kinds.size === 0) return;
    const { unknownField } = await import('./unknown-sort-field.ts');
    const error = unknownField(this.#path, this.#text, [...this.#kinds]);
    if (error) throw error;
  }
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
