import protobuf, { type Field, type Type } from 'protobufjs';
import { badRequest } from '../errors/constructors.ts';
import { shortened } from '../errors/violations.ts';
import { isJsonObject, type Json, type JsonObject, mergePatch, setMember } from '../meta/merge-patch.ts';
import { messageType } from './descriptors.ts';
import { fieldsTo } from './message-fields.ts';

const PATCH = '(berth.meta.v1.patch)';
const REMOVE_ITEMS = '$deleteFromPrimitiveList/';
const ORDER = '$setElementOrder/';

/**
 * Kubernetes' strategic merge patch: like a merge patch (RFC 7396), but a list whose field says by which key its items
 * are told apart is merged item by item. Directives: `$patch: replace|delete|merge`, `$retainKeys`,
 * `$deleteFromPrimitiveList/FIELD`; `$setElementOrder/FIELD` is passed over. Neither argument is changed.
 */
export function strategicMerge(messageName: string, target: JsonObject, patch: JsonObject): JsonObject {
  return mergeObject(messageType(messageName), target, patch) ?? {};
}

/** Undefined: the patch removes the object. */
function mergeObject(type: Type | undefined, target: JsonObject, patch: JsonObject): JsonObject | undefined {
  const { $patch: how, $retainKeys: kept, ...changes } = patch;
  if (how === 'delete') return undefined;
  if (how !== undefined && how !== 'merge' && how !== 'replace') throw unknownDirective('$patch', how);
  const before = how === 'replace' ? {} : kept === undefined ? target : pick(target, kept);
  const result: JsonObject = { ...before };
  for (const [key, value] of Object.entries(changes)) {
    if (key.startsWith(ORDER)) continue;
    if (key.startsWith(REMOVE_ITEMS)) removeItems(result, key.slice(REMOVE_ITEMS.length), value);
    else if (key.startsWith('$')) throw unknownDirective(key, value);
    else mergeField(type, result, key, value);
  }
  return result;
}

function mergeField(type: Type | undefined, result: JsonObject, key: string, value: Json): void {
  if (value === null) {
    delete result[key];
    return;
  }
  const field = type && fieldsTo(type, key)?.at(-1);
  const inner = field && !field.map && field.resolvedType instanceof protobuf.Type ? field.resolvedType : undefined;
  const before = Object.hasOwn(result, key) ? result[key] : undefined;
  if (Array.isArray(value)) setMember(result, key, mergeList(field, inner, Array.isArray(before) ? before : [], value));
  else if (isJsonObject(value)) {
    const merged = mergeObject(inner, isJsonObject(before) ? before : {}, value);
    if (merged === undefined) delete result[key];
    else setMember(result, key, merged);
  } else setMember(result, key, value);
}

/** By which key the items of a list are told apart: undefined when it is replaced as a whole, "" for plain values. */
export function mergeKey(field: Field | undefined): string | undefined {
  const option: unknown = field?.options?.[PATCH];
  const [, key] = /^merge(?:,retainKeys)?(?::(.+))?$/.exec(typeof option === 'string' ? option : '') ?? [undefined, undefined];
  return typeof option === 'string' && option.startsWith('merge') ? (key ?? '') : undefined;
}

/** Whether a change of the field's message drops the members that the change does not name, as of a union. */
export function retainsKeys(field: Field | undefined): boolean {
  const option: unknown = field?.options?.[PATCH];
  return typeof option === 'string' && option.includes('retainKeys');
}

function mergeList(field: Field | undefined, inner: Type | undefined, before: readonly Json[], patch: readonly Json[]): Json[] {
  const key = mergeKey(field);
  const replaces = patch.some((item) => isJsonObject(item) && item.$patch === 'replace');
  const items = patch.filter((item) => !(isJsonObject(item) && item.$patch === 'replace' && Object.keys(item).length === 1));
  if (key === undefined || replaces)
    return items.map((item) => (isJsonObject(item) ? mergePatch({}, withoutDirective(item)) : item));
  return key === '' ? unite(before, items) : mergeByKey(before, items, { key, inner, name: field?.name ?? '' });
}

function unite(before: readonly Json[], items: readonly Json[]): Json[] {
  const seen = new Set(before.map((item) => JSON.stringify(item)));
  const added = items.filter((item) => !seen.has(JSON.stringify(item)) && seen.add(JSON.stringify(item)));
  return [...before, ...added];
}

interface KeyedList {
  readonly key: string;
  readonly inner: Type | undefined;
  readonly name: string;
}

/** Items that are there keep their places, new ones come behind. */
function mergeByKey(before: readonly Json[], items: readonly Json[], { key, inner, name }: KeyedList): Json[] {
  const merged: (Json | undefined)[] = [...before];
  const places = new Map<Json | undefined, number>();
  for (const [at, item] of before.entries()) if (isJsonObject(item) && !places.has(item[key])) places.set(item[key], at);
  for (const item of items) {
    if (!isJsonObject(item) || item[key] === undefined)
      throw badRequest(`cannot patch: an item of ${name} needs its ${key}, by which it is found`);
    const at = places.get(item[key]);
    const present = at === undefined ? undefined : merged[at];
    const next = mergeObject(inner, isJsonObject(present) ? present : {}, item);
    if (at !== undefined) merged[at] = next;
    else if (next !== undefined) places.set(item[key], merged.push(next) - 1);
  }
  return merged.filter((item) => item !== undefined);
}

function withoutDirective(item: JsonObject): JsonObject {
  const { $patch: _, ...rest } = item;
  return rest;
}

function removeItems(result: JsonObject, key: string, values: Json): void {
  const present = result[key];
  if (!Array.isArray(values)) throw unknownDirective(`${REMOVE_ITEMS}${key}`, values);
  // Looked up rather than compared with each: both lists may have 100,000 items.
  const removed = new Set(values.map((value) => JSON.stringify(value)));
  if (Array.isArray(present)) result[key] = present.filter((item) => !removed.has(JSON.stringify(item)));
}

function pick(target: JsonObject, keys: Json): JsonObject {
  if (!Array.isArray(keys)) throw unknownDirective('$retainKeys', keys);
  const kept = new Set(keys);
  return Object.fromEntries(Object.entries(target).filter(([key]) => kept.has(key)));
}

function unknownDirective(name: string, value: Json): Error {
  return badRequest(`cannot patch: ${name}: ${shortened(JSON.stringify(value))} is no directive of a strategic merge patch`);
}
