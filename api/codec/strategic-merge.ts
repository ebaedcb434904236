import protobuf, { type Field, type Type } from 'protobufjs';
import { badRequest } from '../errors/constructors.ts';
import { shortened } from '../errors/violations.ts';
import { isJsonObject, type Json, type JsonObject, setMember } from '../meta/merge-patch.ts';
import { messageType } from './descriptors.ts';
import { fieldsTo } from './message-fields.ts';
import { interleave, isSubsequence } from './strategic-order.ts';

const PATCH = '(berth.meta.v1.patch)';
export const REMOVE_ITEMS = '$deleteFromPrimitiveList/';
export const ORDER = '$setElementOrder/';

/**
 * Kubernetes' strategic merge patch: like a merge patch (RFC 7396), but a list whose field says by which key its items
 * are told apart is merged item by item. Directives: `$patch: replace|delete|merge`, `$retainKeys`,
 * `$deleteFromPrimitiveList/FIELD`, `$setElementOrder/FIELD`. What is not there yet is taken as the patch has it,
 * without nulls and directives. Neither argument is changed. Throws INVALID_ARGUMENT with the path of what is wrong.
 */
export function strategicMerge(messageName: string, target: JsonObject, patch: JsonObject): JsonObject {
  return mergeObject(messageType(messageName), target, patch, '');
}

function mergeObject(type: Type | undefined, target: JsonObject, patch: JsonObject, at: string): JsonObject {
  const how = directiveOf(patch, at);
  if (how === 'delete') return {};
  if (how === 'replace') return freshObject(patch, at) ?? {};
  const result: JsonObject = { ...(patch.$retainKeys === undefined ? target : retain(target, patch, at)) };
  const keys = Object.keys(patch);
  const directives = keys.filter((key) => key.startsWith('$'));
  for (const key of keys) {
    checkDirective(patch, key, at);
    const order = directives.length > 0 ? orderOf(patch, key, at) : undefined;
    if (!key.startsWith('$')) mergeField(type, result, key, { value: patch[key]!, order, at });
  }
  for (const key of directives) {
    if (key.startsWith(ORDER)) orderField(type, result, patch, { name: key.slice(ORDER.length), at });
    if (key.startsWith(REMOVE_ITEMS))
      removeItems(type, result, { name: key.slice(REMOVE_ITEMS.length), values: patch[key]!, at });
  }
  return result;
}

interface Change {
  readonly value: Json;
  /** What `$setElementOrder` says of the list. */
  readonly order: readonly Json[] | undefined;
  /** The path of the object around it. */
  readonly at: string;
}

function mergeField(type: Type | undefined, result: JsonObject, key: string, { value, order, at }: Change): void {
  const path = pathOf(at, key);
  const before = Object.hasOwn(result, key) ? result[key] : undefined;
  const field = fieldOf(type, key);
  let next: Json | undefined;
  if (Array.isArray(value)) next = mergeList(field, Array.isArray(before) ? before : undefined, { value, order, at: path });
  else if (isJsonObject(value))
    next =
      isJsonObject(before) && !isReplaced(field) ? mergeObject(innerType(field), before, value, path) : freshObject(value, path);
  else next = value ?? undefined;
  if (next === undefined) delete result[key];
  else setMember(result, key, next);
}

/** Without the members that `$retainKeys` does not name. It names all that the patch sets. */
function retain(target: JsonObject, patch: JsonObject, at: string): JsonObject {
  const { $retainKeys: keys } = patch;
  if (!Array.isArray(keys)) throw badDirective(at, '$retainKeys', keys!, 'takes a list of field names');
  const kept = new Set(keys);
  const left = Object.keys(patch).find((key) => !key.startsWith('$') && patch[key] !== null && !kept.has(key));
  if (left !== undefined)
    throw refused(at, `$retainKeys does not name ${shortened(left)}, which the patch sets: add it, or leave it out of the patch`);
  return Object.fromEntries(Object.entries(target).filter(([key]) => kept.has(key)));
}

/** Whether a change of the field's message drops the members that the change does not name, as of a union. */
export function retainsKeys(field: Field | undefined): boolean {
  return patchOption(field).includes('retainKeys');
}

/** By which key the items of a list are told apart: undefined when it is replaced as a whole, "" for plain values. */
export function mergeKey(field: Field | undefined): string | undefined {
  const option = patchOption(field);
  return option.startsWith('merge') ? (/:(.+)$/.exec(option)?.[1] ?? '') : undefined;
}

/** Whether the message is not merged with what is there. */
export function isReplaced(field: Field | undefined): boolean {
  return patchOption(field) === 'replace';
}

function patchOption(field: Field | undefined): string {
  const option: unknown = field?.options?.[PATCH];
  return typeof option === 'string' ? option : '';
}

function fieldOf(type: Type | undefined, name: string): Field | undefined {
  return type && fieldsTo(type, name)?.at(-1);
}

/** The message that a field, or each item of it, holds. */
export function innerType(field: Field | undefined): Type | undefined {
  return field && !field.map && field.resolvedType instanceof protobuf.Type ? field.resolvedType : undefined;
}

interface ListChange {
  readonly value: readonly Json[];
  readonly order: readonly Json[] | undefined;
  /** The list's path. */
  readonly at: string;
}

function mergeList(field: Field | undefined, before: readonly Json[] | undefined, { value, order, at }: ListChange): Json[] {
  const key = mergeKey(field);
  if (order !== undefined) checkMerged(key, ORDER, at);
  if (before === undefined || key === undefined) {
    if (key !== undefined) checkKeys(value, order, key, at);
    return freshList(value, at);
  }
  return key === ''
    ? unite(before, { value, order, at })
    : mergeByKey(before, { value, order, at }, { key, type: innerType(field) });
}

/** Throws for items without their key, and for an order that is not that of the items. */
function checkKeys(items: readonly Json[], order: readonly Json[] | undefined, key: string, at: string): void {
  const names = keysOf(items, key, at).filter((_, i) => !isMarked(items[i]!));
  if (order) checkOrder(names, keysOf(order, key, at), at);
}

/** Whether an item is deleted, or says that the list is replaced. */
const isMarked = (item: Json): boolean => isJsonObject(item) && (item.$patch === 'delete' || item.$patch === 'replace');

/** Plain values: those of both, in the order of the patch. */
function unite(before: readonly Json[], { value, order, at }: ListChange): Json[] {
  const [live, added] = [before.map((item) => JSON.stringify(item)), keysOf(value, '', at)];
  const wanted = order && keysOf(order, '', at);
  checkOrder(added, wanted, at);
  const named = new Map([
    ...live.map((name, i) => [name, before[i]!] as const),
    ...added.map((name, i) => [name, value[i]!] as const),
  ]);
  return interleave([...named.keys()], (name) => name, { wanted: wanted ?? added, live }).map((name) => named.get(name)!);
}

interface ItemKind {
  readonly key: string;
  readonly type: Type | undefined;
}

/**
 * Deletes first, then merges the items. Those that the patch names come in its order, or in that of `$setElementOrder`;
 * the others keep theirs between them.
 */
function mergeByKey(before: readonly Json[], { value, order, at }: ListChange, { key, type }: ItemKind): Json[] {
  // A directive that is misspelt is told before the key that would be missing without it.
  const directives = value.map((item, i) => (isJsonObject(item) ? directiveOf(item, `${at}[${i}]`) : undefined));
  const names = keysOf(value, key, at);
  const wanted = order && keysOf(order, key, at);
  const isKept = (i: number): boolean => !isMarked(value[i]!);
  const kept = names.filter((_, i) => isKept(i));
  checkOrder(kept, wanted, at);
  if (directives.includes('replace')) return freshList(value, at);
  const deleted = new Set(names.filter((_, i) => directives[i] === 'delete'));
  const merged = before.filter((item) => !deleted.has(keyOf(item, key)!));
  const live = merged.map((item) => keyOf(item, key));
  const places = new Map<string | undefined, number>();
  for (const [place, name] of live.entries()) if (name !== undefined && !places.has(name)) places.set(name, place);
  for (const [i, item] of value.entries()) {
    if (!isKept(i)) continue;
    const place = places.get(names[i]);
    const path = `${at}[${i}]`;
    if (place !== undefined) merged[place] = mergeObject(type, merged[place] as JsonObject, item as JsonObject, path);
    else places.set(names[i], merged.push(freshObject(item as JsonObject, path)!) - 1);
  }
  return interleave(merged, (item) => keyOf(item, key), { wanted: wanted ?? kept, live });
}

/** What names an item among the others of its list, for the key "" its value; undefined for what has no key. */
function keyOf(item: Json, key: string): string | undefined {
  const value = key === '' ? item : isJsonObject(item) && Object.hasOwn(item, key) ? item[key] : undefined;
  return value === undefined || typeof value === 'object' ? undefined : JSON.stringify(value);
}

/** Those of items in a patch, each of which needs one, except the mark that the list is replaced. */
function keysOf(items: readonly Json[], key: string, at: string): string[] {
  return items.map((item, i) => {
    const name = keyOf(item, key);
    if (name !== undefined) return name;
    if (key !== '' && isJsonObject(item) && item.$patch === 'replace') return '';
    const why = key === '' ? 'the list is of plain values' : `the item needs its ${key}, a plain value, by which it is found`;
    throw refused(`${at}[${i}]`, why);
  });
}

function checkOrder(names: readonly string[], wanted: readonly string[] | undefined, at: string): void {
  if (wanted === undefined || wanted.length === 0 || isSubsequence(names, wanted)) return;
  throw refused(at, 'the items are not in the order of its $setElementOrder, or not all are named there');
}

/** The order of a list that stands beside it in the patch. */
function orderOf(patch: JsonObject, name: string, at: string): readonly Json[] | undefined {
  const key = `${ORDER}${name}`;
  if (!Object.hasOwn(patch, key)) return undefined;
  const order = patch[key]!;
  if (!Array.isArray(order)) throw badDirective(at, key, order, 'takes a list');
  return order;
}

interface Named {
  readonly name: string;
  readonly at: string;
}

/** Orders a list that the patch leaves as it is. */
function orderField(type: Type | undefined, result: JsonObject, patch: JsonObject, { name, at }: Named): void {
  const order = orderOf(patch, name, at) ?? [];
  const key = mergeKey(fieldOf(type, name));
  const path = pathOf(at, name);
  checkMerged(key, ORDER, path);
  const before = Object.hasOwn(result, name) ? result[name] : undefined;
  if (Object.hasOwn(patch, name) || !Array.isArray(before)) return;
  const nameOf = (item: Json): string | undefined => keyOf(item, key!);
  result[name] = interleave(before, nameOf, { wanted: keysOf(order, key!, path), live: before.map(nameOf) });
}

function removeItems(type: Type | undefined, result: JsonObject, { name, values, at }: Named & { readonly values: Json }): void {
  if (!Array.isArray(values)) throw badDirective(at, `${REMOVE_ITEMS}${name}`, values, 'takes a list');
  const path = pathOf(at, name);
  if (mergeKey(fieldOf(type, name)) !== '')
    throw refused(path, `${REMOVE_ITEMS}${name} is for lists of plain values that are merged`);
  const present = Object.hasOwn(result, name) ? result[name] : undefined;
  // Looked up rather than compared with each: both lists may have 100,000 items.
  const removed = new Set(values.map((value) => JSON.stringify(value)));
  if (Array.isArray(present)) result[name] = present.filter((item) => !removed.has(JSON.stringify(item)));
}

function checkMerged(key: string | undefined, directive: string, at: string): void {
  if (key === undefined)
    throw refused(at, `${directive.slice(0, -1)} is for lists that are merged; this one is replaced as a whole`);
}

/** What a patch says of an object that is not there, or that it replaces. Undefined: that there is to be none. */
function freshObject(patch: JsonObject, at: string): JsonObject | undefined {
  if (directiveOf(patch, at) === 'delete') return undefined;
  const result: JsonObject = {};
  for (const key of Object.keys(patch)) {
    checkDirective(patch, key, at);
    const value = key.startsWith('$') ? undefined : fresh(patch[key]!, pathOf(at, key));
    if (value !== undefined && value !== null) setMember(result, key, value);
  }
  return result;
}

function freshList(items: readonly Json[], at: string): Json[] {
  return items.flatMap((item, i) => {
    const path = `${at}[${i}]`;
    // An item that replaces the list says no more than that.
    const isMark = isJsonObject(item) && directiveOf(item, path) === 'replace';
    const value = isMark ? undefined : fresh(item, path);
    return value === undefined ? [] : [value];
  });
}

function fresh(value: Json, at: string): Json | undefined {
  if (Array.isArray(value)) return freshList(value, at);
  return isJsonObject(value) ? freshObject(value, at) : value;
}

type Directive = 'replace' | 'delete' | 'merge';

function directiveOf({ $patch: how }: JsonObject, at: string): Directive | undefined {
  if (how === undefined || how === 'replace' || how === 'delete' || how === 'merge') return how;
  throw badDirective(at, '$patch', how, 'takes merge, replace or delete');
}

function checkDirective(patch: JsonObject, key: string, at: string): void {
  if (!key.startsWith('$') || key === '$patch' || key === '$retainKeys') return;
  if (key.startsWith(ORDER) || key.startsWith(REMOVE_ITEMS)) return;
  throw badDirective(at, key, patch[key]!, '');
}

function pathOf(at: string, key: string): string {
  return at === '' ? key : `${at}.${key}`;
}

/** Paths hold names of the patch, which may be long. */
const shownPath = 200;

function refused(at: string, why: string): Error {
  return badRequest(`cannot patch: ${at === '' ? '' : `${shortened(at, shownPath)}: `}${why}`);
}

function badDirective(at: string, name: string, value: Json, takes: string): Error {
  const found = shortened(JSON.stringify(value));
  return refused(at, `${shortened(name)}: ${found} is no directive of a strategic merge patch${takes && `; it ${takes}`}`);
}
