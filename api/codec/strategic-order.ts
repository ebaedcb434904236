interface Orders {
  /** Of the names that a patch lists. */
  readonly wanted: readonly string[];
  /** Of the names of the list before the patch. */
  readonly live: readonly (string | undefined)[];
}

/**
 * Orders a merged list as Kubernetes does: the items that a patch names in the patch's order, the others in the order
 * that they had. Of the two rows, the next one of the others goes first where it stood before the next named one.
 */
export function interleave<T>(items: readonly T[], nameOf: (item: T) => string | undefined, { wanted, live }: Orders): T[] {
  const [wantedAt, liveAt] = [places(wanted), places(live)];
  const place = (item: T, of: ReadonlyMap<string | undefined, number>): number => of.get(nameOf(item)) ?? Number.NaN;
  const named = items.filter((item) => wantedAt.has(nameOf(item))).sort((a, b) => place(a, wantedAt) - place(b, wantedAt));
  const others = items.filter((item) => !wantedAt.has(nameOf(item)));
  const result: T[] = [];
  let next = 0;
  for (const item of named) {
    // The comparison is false where one of the two is new.
    while (next < others.length && place(others[next]!, liveAt) < place(item, liveAt)) result.push(others[next++]!);
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}

/** Where each name stands first. */
function places(names: readonly (string | undefined)[]): Map<string | undefined, number> {
  const found = new Map<string | undefined, number>();
  for (const [at, name] of names.entries()) if (name !== undefined && !found.has(name)) found.set(name, at);
  return found;
}

/** Whether the names stand in this order among all, each of them. */
export function isSubsequence(names: readonly string[], all: readonly string[]): boolean {
  let at = 0;
  for (const name of all) if (at < names.length && names[at] === name) at++;
  return at === names.length;
}
