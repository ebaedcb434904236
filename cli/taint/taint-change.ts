import { badRequest } from '../../api/errors/index.ts';
import type { Taint } from '../../api/generated/types.ts';
import { TAINT_EFFECTS } from '../../api/kinds/taints.ts';

/** What a command line wants of taints. A removal without an effect means all of the key. */
export interface TaintChange {
  readonly set: readonly Required<Pick<Taint, 'key' | 'value' | 'effect'>>[];
  readonly remove: readonly { readonly key: string; readonly effect?: string }[];
}

const forms = 'write KEY=VALUE:EFFECT or KEY:EFFECT to set a taint, KEY:EFFECT- or KEY- to remove it';

/** Splits "n1 n2 disk=broken:NoExecute old-" into names of nodes and what is to change. */
export function splitTaints(words: readonly string[]): { readonly nodes: string[]; readonly change: TaintChange } {
  const first = words.findIndex((word) => /[:=]/.test(word) || word.endsWith('-'));
  const at = first < 0 ? words.length : first;
  const set: TaintChange['set'][number][] = [];
  const remove: TaintChange['remove'][number][] = [];
  for (const word of words.slice(at)) {
    if (word.endsWith('-')) remove.push(parseRemoval(word));
    else set.push(parseTaint(word));
  }
  if (set.length + remove.length === 0) throw badRequest(`say which taints to set or to remove: ${forms}`);
  const seen = new Set<string>();
  for (const { key, effect } of set) {
    if (seen.has(`${key}:${effect}`)) throw badRequest(`the taint ${key}:${effect} is given twice`);
    seen.add(`${key}:${effect}`);
  }
  const both = remove.find((gone) => set.some((taint) => isMeant(gone, taint)));
  if (both) throw badRequest(`the taint "${both.key}" cannot be set and removed at once`);
  return { nodes: words.slice(0, at), change: { set, remove } };
}

/** KEY=VALUE:EFFECT or KEY:EFFECT. Throws INVALID_ARGUMENT. */
export function parseTaint(word: string): TaintChange['set'][number] {
  const parts = /^([^=:]+)(?:=([^=:]*))?:([^=:]+)$/.exec(word);
  if (!parts) throw badRequest(`"${word}" is no taint: ${forms}`);
  const [, key = '', value = '', effect = ''] = parts;
  return { key, value, effect: checkEffect(word, effect) };
}

function parseRemoval(word: string): TaintChange['remove'][number] {
  const parts = /^([^=:]+)(?::([^=:]+))?-$/.exec(word);
  if (!parts) throw badRequest(`"${word}" is no taint: ${forms}`);
  const [, key = '', effect] = parts;
  return effect === undefined ? { key } : { key, effect: checkEffect(word, effect) };
}

function checkEffect(word: string, effect: string): string {
  if (TAINT_EFFECTS.includes(effect)) return effect;
  throw badRequest(`"${word}": the effect must be ${TAINT_EFFECTS.join(', ')}`);
}

function isMeant(gone: TaintChange['remove'][number], { key, effect }: Taint): boolean {
  return gone.key === key && (gone.effect === undefined || gone.effect === effect);
}

export interface TaintPlan {
  /** The whole list; undefined when everything is as wanted. */
  readonly taints: readonly Taint[] | undefined;
  readonly done: 'tainted' | 'untainted' | 'modified' | 'not tainted';
  /** Those to remove that are not there. */
  readonly absent: readonly string[];
}

/** What the node's taints become. Throws for one that is there with another value, unless that may be overwritten. */
export function computeTaints(present: readonly Taint[], { set, remove }: TaintChange, overwrite: boolean): TaintPlan {
  const kept = present.filter((taint) => !remove.some((gone) => isMeant(gone, taint)));
  const absent = remove.filter((gone) => !present.some((taint) => isMeant(gone, taint)));
  const next = [...kept];
  let changed = 0;
  for (const taint of set) {
    const at = next.findIndex(({ key, effect }) => key === taint.key && effect === taint.effect);
    const before = next[at];
    if (before && (before.value ?? '') === taint.value) continue;
    if (before && !overwrite)
      throw badRequest(
        `the taint ${taint.key}:${taint.effect} is there already with the value "${before.value ?? ''}"; add --overwrite to change it`,
      );
    changed++;
    const { value, ...rest } = taint;
    next.splice(before ? at : next.length, before ? 1 : 0, { ...rest, ...(value && { value }) });
  }
  const removed = present.length - kept.length;
  return {
    taints: changed + removed > 0 ? next : undefined,
    done: changed > 0 ? (removed > 0 ? 'modified' : 'tainted') : removed > 0 ? 'untainted' : 'not tainted',
    absent: absent.map(({ key, effect }) => (effect === undefined ? key : `${key}:${effect}`)),
  };
}
