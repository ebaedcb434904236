import type { ApiObject } from '../../api/kinds/kind.ts';
import { objectKey } from '../../api/meta/key.ts';

/** Reads what an informer knows. The objects are shared by all readers: never change one, copy it. */
export interface Lister<T> {
  /** By "namespace/name", or "name" for kinds without a namespace. */
  get(key: string): T | undefined;
  list(): T[];
  /** The objects for which the index's function gave `value`. Throws RangeError for an index that was not declared. */
  byIndex(index: string, value: string): T[];
  /** Whether `byIndex` would give any, at the same cost for one object as for thousands. */
  isInIndex(index: string, value: string): boolean;
  /** How many `byIndex` would give, at the same cost. */
  countInIndex(index: string, value: string): number;
}

/** Gives the values under which an object is found; several, one or none. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** A store of objects by key that keeps indexes. Every call is synchronous, so readers never see half a change. */
export interface Indexer<T> extends Lister<T> {
  /** Stores the object; gives the one it replaced. */
  set(object: T): T | undefined;
  /** Removes the object; gives the one that was stored. */
  delete(key: string): T | undefined;
  keys(): IterableIterator<string>;
  readonly size: number;
}

export function createIndexer<T extends ApiObject>(functions: Readonly<Record<string, IndexFunction<T>>> = {}): Indexer<T> {
  const objects = new Map<string, T>();
  const indexes = new Map(
    Object.entries(functions).map(([name, values]) => [name, { values, entries: new Map<string, string | Set<string>>() }]),
  );

  function index(key: string, object: T): void {
    for (const { values, entries } of indexes.values())
      for (const value of values(object)) {
        const keys = entries.get(value);
        // Most values of most indexes have one object, and a set takes ten times its key.
        if (keys === undefined) entries.set(value, key);
        else if (typeof keys !== 'string') keys.add(key);
        else if (keys !== key) entries.set(value, new Set([keys, key]));
      }
  }

  function unindex(key: string, object: T): void {
    for (const { values, entries } of indexes.values())
      for (const value of values(object)) {
        const keys = entries.get(value);
        if (keys === key) entries.delete(value);
        else if (typeof keys === 'object' && keys.delete(key) && keys.size === 0) entries.delete(value);
      }
  }

  function entriesOf(name: string) {
    const found = indexes.get(name);
    if (!found) throw new RangeError(`read index "${name}": not declared; give it to the informer as one of its indexers`);
    return found.entries;
  }

  return {
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    keys: () => objects.keys(),
    get size() {
      return objects.size;
    },
    byIndex(name, value) {
      const keys = entriesOf(name).get(value);
      const found: T[] = [];
      if (typeof keys === 'string') found.push(objects.get(keys)!);
      // Controllers read thousands of pods this way at each look: Array.from takes a third longer.
      else if (keys) for (const key of keys) found.push(objects.get(key)!);
      return found;
    },
    isInIndex: (name, value) => entriesOf(name).has(value),
    countInIndex(name, value) {
      const keys = entriesOf(name).get(value);
      return typeof keys === 'string' ? 1 : (keys?.size ?? 0);
    },
    set(object) {
      const key = objectKey(object);
      const old = objects.get(key);
      if (old) unindex(key, old);
      objects.set(key, object);
      index(key, object);
      return old;
    },
    delete(key) {
      const old = objects.get(key);
      if (!old) return undefined;
      unindex(key, old);
      objects.delete(key);
      return old;
    },
  };
}
