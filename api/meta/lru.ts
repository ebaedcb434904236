/** A map of bounded size: the entries that were neither read nor written for longest make room. */
export interface Lru<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  readonly size: number;
}

/** The capacity bounds the weight of all values together, which is 1 each by default. */
export function createLru<V>(capacity: number, weightOf: (value: V) => number = () => 1): Lru<V> {
  /** In the order of use, as maps keep the order of insertion. */
  const entries = new Map<string, V>();
  let weight = 0;

  function remove(key: string): void {
    const value = entries.get(key);
    if (value === undefined) return;
    entries.delete(key);
    weight -= weightOf(value);
  }

  return {
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      remove(key);
      entries.set(key, value);
      weight += weightOf(value);
      for (const oldest of entries.keys()) {
        if (weight <= capacity) return;
        remove(oldest);
      }
    },
    get size() {
      return entries.size;
    },
  };
}
