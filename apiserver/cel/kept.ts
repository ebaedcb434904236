import { createLru } from '../../api/meta/lru.ts';

/** Gives what `make` made of a key; results of the weight `most` are kept (1 each by default), the last used ones. */
export function keptBy<Value extends object | string | null>(
  most: number,
  make: (key: string) => Value,
  weightOf?: (value: Value) => number,
): (key: string) => Value {
  const kept = createLru(most, weightOf);
  return (key) => {
    const found = kept.get(key);
    if (found !== undefined) return found;
    const made = make(key);
    kept.set(key, made);
    return made;
  };
}
