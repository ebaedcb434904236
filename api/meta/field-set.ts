/**
 * A set of fields as Kubernetes' FieldsV1 writes it: `f:name` is a field or the key of a map, `k:{...}` an item of a
 * list by its keys, `v:...` a value of a set, "." the parent itself. An empty object is a field that is named as a
 * whole.
 */
export interface FieldSet {
  [step: string]: FieldSet;
}

/** The member "." of a set that has other members besides. */
export const SELF = '.';

export function isEmptySet(set: FieldSet | undefined): boolean {
  return set === undefined || Object.keys(set).length === 0;
}

/** Everything that either names. Neither is changed, but the result shares parts with them. */
export function unite(a: FieldSet, b: FieldSet): FieldSet {
  const result: FieldSet = { ...a };
  for (const step of Object.keys(b)) {
    const [mine, other] = [Object.hasOwn(a, step) ? a[step] : undefined, b[step]!];
    if (mine === undefined) result[step] = other;
    else if (step !== SELF) result[step] = uniteNodes(mine, other);
  }
  return result;
}

/** Everything that one of them names. In pairs: each step is copied as often as the list can be halved. */
export function uniteAll(sets: readonly FieldSet[]): FieldSet {
  if (sets.length <= 1) return sets[0] ?? {};
  const middle = sets.length >> 1;
  return unite(uniteAll(sets.slice(0, middle)), uniteAll(sets.slice(middle)));
}

/** A leaf names its field, and goes on doing so beside what is below. */
function uniteNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) && isEmptySet(b)) return a;
  if (isEmptySet(a)) return { [SELF]: {}, ...b };
  return isEmptySet(b) ? { [SELF]: {}, ...a } : unite(a, b);
}

/** What `a` names and `b` does not; a leaf of `b` takes everything below it as well. Undefined when nothing is left. */
export function subtract(a: FieldSet, b: FieldSet): FieldSet | undefined {
  let result: FieldSet | undefined;
  for (const step of Object.keys(b)) {
    if (!Object.hasOwn(a, step)) continue;
    result ??= { ...a };
    const [mine, taken] = [a[step]!, b[step]!];
    // A manager that owns a field as a whole keeps it when only a part of it is taken.
    if (isEmptySet(mine) && !isEmptySet(taken) && !Object.hasOwn(taken, SELF)) continue;
    const rest = isEmptySet(taken) || isEmptySet(mine) ? undefined : subtract(mine, taken);
    if (rest === undefined) delete result[step];
    else result[step] = Object.keys(rest).length === 1 && Object.hasOwn(rest, SELF) ? {} : rest;
  }
  if (result === undefined) return a;
  return isEmptySet(result) ? undefined : result;
}

/** The set with nothing named more finely than `depth` steps down: coarser, and never smaller in what it covers. */
export function coarsen(set: FieldSet, depth: number): FieldSet {
  const result: FieldSet = {};
  for (const step of Object.keys(set)) result[step] = depth <= 1 ? {} : coarsen(set[step]!, depth - 1);
  return result;
}
