import { createLru } from '../../api/meta/lru.ts';

/** Gives what `make` made of a key; at most `most` results are kept, the last used ones. */
export function keptBy<Value extends object | string | null>(most: number, make: (key: string) => Value): (key: string) => Value {
  const kept = createLru<Value>(most);
  return (key) => {
    const found = kept.get(key);
    if (found !== undefined) return found;
    const made = make(key);
    kept.set(key, made);
    return made;
  };
}
