/** Reads pieces of an object's JSON form without caring whether they are there: absent reads as empty. */
export type Tree = { readonly [name: string]: unknown };

export function tree(value: unknown, ...path: readonly string[]): Tree {
  const found = at(value, path);
  return typeof found === 'object' && found !== null && !Array.isArray(found) ? (found as Tree) : {};
}

export function list(value: unknown, ...path: readonly string[]): Tree[] {
  const found = at(value, path);
  return Array.isArray(found) ? (found as Tree[]) : [];
}

export function strings(value: unknown, ...path: readonly string[]): string[] {
  return list(value, ...path).map(String);
}

/** The text of a scalar; empty when absent. */
export function text(value: unknown, ...path: readonly string[]): string {
  const found = at(value, path);
  return found === undefined || found === null || typeof found === 'object' ? '' : String(found);
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (node, name) => (typeof node === 'object' && node !== null ? (node as Tree)[name] : undefined),
    value,
  );
}
