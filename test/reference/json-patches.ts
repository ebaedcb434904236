import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A merge patch (RFC 7396) as a list of assignments to paths, done one after the other on a copy: each object of the
 * patch makes an object of what is there, each null takes a member away, and all else is set.
 */
export function slowMergePatch(target: Json, patch: Json): Json {
  const root: JsonObject = { '': structuredClone(target) };
  const assign = (path: readonly string[], value: Json): void => {
    let at: JsonObject = root;
    for (const step of path.slice(0, -1)) at = at[step] as JsonObject;
    const last = path.at(-1)!;
    if (value === null && path.length > 1) delete at[last];
    else if (!isObject(value)) at[last] = structuredClone(value);
    else {
      if (!isObject(at[last])) at[last] = {};
      for (const [name, each] of Object.entries(value)) assign([...path, name], each);
    }
  };
  assign([''], patch);
  return root['']!;
}

class Refusal extends Error {}

/** A JSON patch (RFC 6902) on copies, each operation by recursion from the root; undefined for one that is refused. */
export function slowJsonPatch(target: Json, operations: readonly JsonObject[]): Json | undefined {
  try {
    return operations.reduce<Json>(applied, target);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function applied(root: Json, { op, path, from, value = null }: JsonObject): Json {
  const to = steps(path as string);
  switch (op) {
    case 'add':
      return added(root, to, value);
    case 'remove':
      return removed(root, to);
    case 'replace':
      found(root, to);
      return to.length === 0 ? value : added(removed(root, to), to, value);
    case 'copy':
      return added(root, to, found(root, steps(from as string)));
    case 'move': {
      const moved = found(root, steps(from as string));
      if ((path as string).startsWith(`${from as string}/`)) throw new Refusal();
      return added(removed(root, steps(from as string)), to, moved);
    }
    default:
      if (!isDeepStrictEqual(found(root, to), value)) throw new Refusal();
      return root;
  }
}

const steps = (pointer: string): string[] =>
  pointer === ''
    ? []
    : pointer
        .slice(1)
        .split('/')
        .map((step) => step.replace(/~[01]/g, (escaped) => (escaped === '~1' ? '/' : '~')));

function place(list: readonly Json[], step: string, last: number): number {
  const at = Array.from({ length: last + 1 }, (_, i) => String(i)).indexOf(step);
  if (at < 0 || at > list.length) throw new Refusal();
  return at;
}

function found(value: Json, [step, ...rest]: readonly string[]): Json {
  if (step === undefined) return value;
  if (Array.isArray(value)) return found(value[place(value, step, value.length - 1)]!, rest);
  if (!isObject(value) || !(step in value)) throw new Refusal();
  return found(value[step]!, rest);
}

/** The value with another in the place of what a step names. */
function changed(value: Json, step: string, change: (inner: Json) => Json): Json {
  const next = change(found(value, [step]));
  if (Array.isArray(value)) return value.map((each, i) => (String(i) === step ? next : each));
  return { ...(value as JsonObject), [step]: next };
}

function added(root: Json, [step, ...rest]: readonly string[], value: Json): Json {
  if (step === undefined) return value;
  if (rest.length > 0) return changed(root, step, (inner) => added(inner, rest, value));
  if (isObject(root)) return { ...root, [step]: value };
  if (!Array.isArray(root)) throw new Refusal();
  const at = step === '-' ? root.length : place(root, step, root.length);
  return [...root.slice(0, at), value, ...root.slice(at)];
}

function removed(root: Json, [step, ...rest]: readonly string[]): Json {
  if (step === undefined) throw new Refusal();
  if (rest.length > 0) return changed(root, step, (inner) => removed(inner, rest));
  found(root, [step]);
  if (Array.isArray(root)) return root.filter((_, i) => String(i) !== step);
  return Object.fromEntries(Object.entries(root as JsonObject).filter(([name]) => name !== step));
}
