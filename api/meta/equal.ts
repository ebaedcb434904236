/**
 * Whether two plain values say the same. A member that is undefined counts as absent; bytes are compared by content.
 */
export function equalValues(a: unknown, b: unknown): boolean {
  return firstDifference(a, b) === undefined;
}

/**
 * The path of the first place where two plain values differ ("" for the values themselves), or undefined when nowhere.
 */
export function firstDifference(a: unknown, b: unknown): string | undefined {
  if (Object.is(a, b)) return undefined;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return '';
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0 ? undefined : '';
  if (Array.isArray(a) && Array.isArray(b)) return differenceOfLists(a, b);
  if (Array.isArray(a) || Array.isArray(b)) return '';
  return differenceOfObjects(a as Record<string, unknown>, b as Record<string, unknown>);
}

/** The path of the first difference in each member of two objects, in the order of their members. */
export function differencesByMember(a: object, b: object): string[] {
  const [one, other] = [a, b] as [Record<string, unknown>, Record<string, unknown>];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((name) => {
    const inner = firstDifference(one[name], other[name]);
    return inner === undefined ? [] : [`.${name}${inner}`];
  });
}

function differenceOfLists(a: readonly unknown[], b: readonly unknown[]): string | undefined {
  if (a.length !== b.length) return '';
  for (let i = 0; i < a.length; i++) {
    const inner = firstDifference(a[i], b[i]);
    if (inner !== undefined) return `[${i}]${inner}`;
  }
  return undefined;
}

function differenceOfObjects(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): string | undefined {
  for (const key of Object.keys(a)) {
    const inner = firstDifference(a[key], Object.hasOwn(b, key) ? b[key] : undefined);
    if (inner !== undefined) return `.${key}${inner}`;
  }
  for (const key of Object.keys(b)) if (b[key] !== undefined && !Object.hasOwn(a, key)) return `.${key}`;
  return undefined;
}
