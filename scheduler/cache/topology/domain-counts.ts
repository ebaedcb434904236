/**
 * A whole number for each domain, most of them 0. Few numbers are kept in a map, so that thousands of terms of which
 * each concerns a few of thousands of nodes stay small; many in an array, which loops over nodes read as it is.
 */
export interface DomainCounts {
  add(domain: number, amount: number): void;
  /** Adds each number times `factor` to that of its domain in `target`, which must be long enough. */
  addTo(target: Int32Array, factor: number): void;
  /** All numbers by domain, when they are kept so and are at least `size` long. */
  array(size: number): Int32Array | undefined;
}

/** A map's entry takes about as much as so many places of an array. */
const sparseness = 16;

export function createDomainCounts(): DomainCounts {
  let few: Map<number, number> | undefined = new Map();
  let many = new Int32Array(0);

  function spread(size: number): void {
    many = lengthened(many, size);
    for (const [domain, count] of few ?? []) many[domain] = count;
    few = undefined;
  }

  return {
    add(domain, amount) {
      if (few === undefined) {
        if (domain >= many.length) many = lengthened(many, domain + 1);
        many[domain]! += amount;
        return;
      }
      const count = (few.get(domain) ?? 0) + amount;
      if (count === 0) few.delete(domain);
      else few.set(domain, count);
    },
    addTo(target, factor) {
      if (few) for (const [domain, count] of few) target[domain]! += factor * count;
      else for (let domain = 0; domain < many.length; domain++) target[domain]! += factor * many[domain]!;
    },
    array(size) {
      if (few && few.size * sparseness >= size) spread(size);
      if (few) return undefined;
      if (many.length < size) many = lengthened(many, size);
      return many;
    },
  };
}

/** The same numbers with room for `size`, and some more: domains come one by one. */
export function lengthened(from: Int32Array, size: number): Int32Array<ArrayBuffer> {
  const to = new Int32Array(Math.max(size, from.length * 2));
  to.set(from);
  return to;
}
