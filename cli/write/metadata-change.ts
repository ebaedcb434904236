import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';

/** What a command line wants of labels or annotations: values to set, keys to remove. */
export interface MetadataChange {
  readonly set: ReadonlyMap<string, string>;
  readonly remove: ReadonlySet<string>;
}

/** Splits "pod web app=x tier-" into what names objects and what is to change. */
export function splitChanges(words: readonly string[]): { readonly objects: string[]; readonly change: MetadataChange } {
  const first = words.findIndex(isChange);
  const at = first < 0 ? words.length : first;
  const set = new Map<string, string>();
  const remove = new Set<string>();
  for (const word of words.slice(at)) {
    const equals = word.indexOf('=');
    if (equals > 0) set.set(word.slice(0, equals), word.slice(equals + 1));
    else if (/^[^=]+-$/.test(word)) remove.add(word.slice(0, -1));
    else throw badRequest(`"${word}" is neither KEY=VALUE nor KEY-; names come before all of those`);
  }
  const both = [...set.keys()].find((key) => remove.has(key));
  if (both !== undefined) throw badRequest(`"${both}" cannot be set and removed at once`);
  return { objects: words.slice(0, at), change: { set, remove } };
}

function isChange(word: string): boolean {
  return word.includes('=') || word.endsWith('-');
}

export interface ChangePlan {
  /** A merge patch of the map; undefined when everything is as wanted. */
  readonly patch: JsonObject | undefined;
  /** Whether anything is set; else keys are only removed. */
  readonly sets: boolean;
  /** Keys to remove that are not there. */
  readonly absent: readonly string[];
}

/**
 * What has to change in the present values. Throws for a key that has another value, unless that may be overwritten.
 */
export function computeChange(present: Readonly<Record<string, string>>, change: MetadataChange, overwrite: boolean): ChangePlan {
  const patch: JsonObject = {};
  let sets = false;
  for (const [key, value] of change.set) {
    const before = Object.hasOwn(present, key) ? present[key] : undefined;
    if (before === value) continue;
    if (before !== undefined && !overwrite)
      throw badRequest(`"${key}" has the value "${before}" already; add --overwrite to change it`);
    patch[key] = value;
    sets = true;
  }
  const absent = [...change.remove].filter((key) => !Object.hasOwn(present, key));
  for (const key of change.remove) if (Object.hasOwn(present, key)) patch[key] = null;
  return { patch: Object.keys(patch).length > 0 ? patch : undefined, sets, absent };
}
