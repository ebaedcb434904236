/**
 * What was made last, by its keys; values weigh at most `most` together, one each by default. Those that were not
 * needed for longest make room.
 */
export function keptBy<Value>(
  most: number,
  make: (key: string) => Value,
  weightOf: (value: Value) => number = () => 1,
): (key: string) => Value {
  const kept = new Map<string, Value>();
  let weight = 0;

  function drop(key: string, value: Value): void {
    kept.delete(key);
    weight -= weightOf(value);
  }

  return (key) => {
    const isKept = kept.has(key);
    const found = isKept ? kept.get(key)! : make(key);
    if (isKept) drop(key, found);
    kept.set(key, found);
    weight += weightOf(found);
    for (const [oldest, value] of kept) {
      if (weight <= most) break;
      drop(oldest, value);
    }
    return found;
  };
}
