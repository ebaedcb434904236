import { isJsonObject, type Json } from '../../meta/merge-patch.ts';

/** The fields of a path without lists and filters, as ".spec.color"; undefined for any other path. */
export function plainPath(path: string): readonly string[] | undefined {
  if (!/^(\.[A-Za-z_$][\w$-]*)+$/.test(path)) return undefined;
  const steps = path.slice(1).split('.');
  return steps.includes('__proto__') ? undefined : steps;
}

/** What stands at the end of the steps; undefined for nothing. */
export function valueAt(object: unknown, steps: readonly string[]): Json | undefined {
  let at: unknown = object;
  for (const step of steps) {
    if (!isJsonObject(at) || !Object.hasOwn(at, step)) return undefined;
    at = at[step];
  }
  return at as Json;
}
