import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';

/** What a reference knows of a field, written by hand: not read from the API's descriptors. */
export interface FieldRule {
  /** Items are merged by this key; '' for plain values. Absent: the list is replaced. */
  readonly key?: string;
  /** The object is replaced as a whole. */
  readonly replaced?: true;
  readonly fields?: Rules;
}
export type Rules = Readonly<Record<string, FieldRule>>;

/**
 * A strategic merge patch, step by step on copies and with linear searches, as Kubernetes' documentation of the patch
 * and of the preserved order of elements tells it. Slow, and without messages: undefined for a patch that is refused.
 */
export function slowStrategicMerge(rules: Rules, target: JsonObject, patch: JsonObject): JsonObject | undefined {
  try {
    return merged(rules, structuredClone(target), structuredClone(patch));
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

class Refusal extends Error {}

function merged(rules: Rules, target: JsonObject, patch: JsonObject): JsonObject {
  if (patch.$patch === 'delete') return {};
  if (patch.$patch === 'replace') return cleaned(patch) as JsonObject;
  const keep = patch.$retainKeys as string[] | undefined;
  if (keep) {
    for (const key in patch) if (key[0] !== '$' && patch[key] !== null && !keep.includes(key)) throw new Refusal();
    for (const key in target) if (!keep.includes(key)) delete target[key];
  }
  for (const key in patch) {
    if (key[0] === '$') continue;
    const [value, rule, old] = [patch[key]!, rules[key] ?? {}, target[key]];
    const order = patch[`$setElementOrder/${key}`] as Json[] | undefined;
    if (order && rule.key === undefined) throw new Refusal();
    if (value === null) delete target[key];
    else if (Array.isArray(value)) {
      if (rule.key !== undefined) checkOrder(value, order, rule.key);
      const list = rule.key !== undefined && Array.isArray(old) ? mergedList(old, value, order, rule) : cleaned(value)!;
      target[key] = list;
    } else if (typeof value === 'object') {
      const next = isObject(old) && !rule.replaced ? merged(rule.fields ?? {}, old, value) : cleaned(value);
      if (next === undefined) delete target[key];
      else target[key] = next;
    } else target[key] = value;
  }
  for (const key in patch) {
    const [directive, name = ''] = key.split('/');
    const [list, rule] = [target[name], rules[name] ?? {}];
    if (directive === '$setElementOrder' && !(name in patch) && Array.isArray(list))
      target[name] = inOrder(list, list, patch[key] as Json[], rule.key!);
    if (directive === '$deleteFromPrimitiveList' && Array.isArray(list))
      target[name] = list.filter((item) => !(patch[key] as Json[]).includes(item));
  }
  return target;
}

function mergedList(old: Json[], value: Json[], order: Json[] | undefined, rule: FieldRule): Json[] {
  const key = rule.key!;
  if (value.some((item) => isObject(item) && item.$patch === 'replace')) return cleaned(value) as Json[];
  const isDeletion = (item: Json): boolean => isObject(item) && item.$patch === 'delete';
  const live = old.filter((item) => !value.some((other) => isDeletion(other) && same(item, other, key)));
  const list = [...live];
  for (const item of value.filter((each) => !isDeletion(each))) {
    const at = list.findIndex((other) => same(other, item, key));
    if (at < 0) list.push(cleaned(item)!);
    else if (key !== '') list[at] = merged(rule.fields ?? {}, list[at] as JsonObject, item as JsonObject);
  }
  return inOrder(list, live, order ?? value.filter((item) => !isDeletion(item)), key);
}

/** Takes again and again the first item that may come next: a named one, or one that stood before it. */
function inOrder(list: Json[], live: Json[], order: Json[], key: string): Json[] {
  const at = (row: Json[], item: Json): number => row.findIndex((other) => same(other, item, key));
  const named = order.flatMap((name, i) => (at(order, name) === i ? list.filter((item) => same(item, name, key)) : []));
  const others = list.filter((item) => at(order, item) < 0);
  const result: Json[] = [];
  while (named.length + others.length > 0) {
    const [next, other] = [named[0], others[0]];
    const otherFirst =
      next === undefined ||
      (other !== undefined && at(live, other) >= 0 && at(live, next) >= 0 && at(live, other) < at(live, next));
    result.push((otherFirst ? others : named).shift()!);
  }
  return result;
}

function checkOrder(value: Json[], order: Json[] | undefined, key: string): void {
  if (!order || order.length === 0) return;
  let from = 0;
  for (const item of value) {
    if (isObject(item) && (item.$patch === 'delete' || item.$patch === 'replace')) continue;
    while (from < order.length && !same(order[from]!, item, key)) from++;
    if (from++ >= order.length) throw new Refusal();
  }
}

function same(left: Json, right: Json, key: string): boolean {
  return key === '' ? left === right : (left as JsonObject)[key] === (right as JsonObject)[key];
}

/** Without nulls and directives; undefined for what is to be deleted. */
function cleaned(value: Json): Json | undefined {
  if (Array.isArray(value))
    return value
      .filter((item) => !(isObject(item) && item.$patch === 'replace'))
      .map(cleaned)
      .filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (value.$patch === 'delete') return undefined;
  const kept = Object.entries(value).filter(([key, member]) => key[0] !== '$' && member !== null);
  return Object.fromEntries(kept.map(([key, member]) => [key, cleaned(member)!]).filter(([, member]) => member !== undefined));
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
