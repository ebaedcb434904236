/** What was made last, at most `most` values by their keys; the one that was not needed for longest makes room. */
export function keptBy<Value>(most: number, make: (key: string) => Value): (key: string) => Value {
  const kept = new Map<string, Value>();
  return (key) => {
    const found = kept.has(key) ? kept.get(key)! : make(key);
    kept.delete(key);
    kept.set(key, found);
    if (kept.size > most) kept.delete(kept.keys().next().value!);
    return found;
  };
}
