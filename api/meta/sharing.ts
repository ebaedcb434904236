/**
 * Gives for equal keys the first of their values. Of those asked for last, at least `size` are remembered and at most
 * twice as many: the older half goes as a whole, which costs less than an order of use. One that is forgotten is kept
 * once more.
 */
export function createSharing<V>(size: number): (key: string, value: V) => V {
  let young = new Map<string, V>();
  let old = new Map<string, V>();
  return (key, value) => {
    const known = young.get(key);
    if (known !== undefined) return known;
    const first = old.get(key) ?? value;
    if (young.size === size) {
      old = young;
      young = new Map();
    }
    young.set(key, first);
    return first;
  };
}
