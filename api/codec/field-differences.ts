import protobuf, { type Field, type Type } from 'protobufjs';
import { equalValues } from '../meta/equal.ts';
import { isJsonObject, type Json, type JsonObject } from '../meta/merge-patch.ts';
import { messageType } from './descriptors.ts';
import { fieldsTo } from './message-fields.ts';
import { mergeKey } from './strategic-merge.ts';

/** One field that differs between two versions of an object. */
export interface FieldDifference {
  /** e.g. spec.containers[name=web].image, metadata.labels["example.com/team"], spec.containers[name=web].args */
  readonly path: string;
  /** The value before; undefined: there was none. */
  readonly before: Json | undefined;
  /** The value after; undefined: there is none any more. */
  readonly after: Json | undefined;
}

/** The fields that identify items of a list where the schema names no key. */
const usualKeys = ['name', 'type', 'uid', 'ip'];
const plainName = /^[A-Za-z_][A-Za-z0-9_-]*$/;

interface Place {
  readonly path: string;
  /** The message whose fields stand here; undefined in maps and in what has no schema. */
  readonly type: Type | undefined;
  readonly field?: Field | undefined;
}

/**
 * What differs between two versions of an object in JSON form, field by field in the order of the fields: an object is
 * looked into, a list whose items have a key is compared item by item, any other list is one value. Pure.
 */
export function computeFieldDifferences(messageName: string, before: JsonObject, after: JsonObject): FieldDifference[] {
  const found: FieldDifference[] = [];
  compareObjects({ path: '', type: messageType(messageName) }, before, after, found);
  return found;
}

function compareObjects(at: Place, before: JsonObject, after: JsonObject, found: FieldDifference[]): void {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    const now = Object.hasOwn(after, name) ? after[name] : undefined;
    compare(memberOf(at, name), old, now, found);
  }
}

function compare(at: Place, before: Json | undefined, after: Json | undefined, found: FieldDifference[]): void {
  if (equalValues(before, after)) return;
  const objects = asObjects(before, after);
  const lists = asLists(before, after);
  const key = lists && keyOf(at.field, ...lists);
  if (objects) compareObjects(at, ...objects, found);
  else if (!lists || key === undefined || !compareItems(at, key, ...lists, found)) found.push({ path: at.path, before, after });
}

/** One of the two may be absent: an added or removed object is compared field by field too. An empty one is a value. */
function asObjects(before: Json | undefined, after: Json | undefined): [JsonObject, JsonObject] | undefined {
  const pair = [before ?? {}, after ?? {}] as const;
  if (!isJsonObject(pair[0]) || !isJsonObject(pair[1])) return undefined;
  return Object.keys(pair[0]).length + Object.keys(pair[1]).length > 0 ? [pair[0], pair[1]] : undefined;
}

function asLists(before: Json | undefined, after: Json | undefined): [readonly Json[], readonly Json[]] | undefined {
  const pair = [before ?? [], after ?? []] as const;
  return Array.isArray(pair[0]) && Array.isArray(pair[1]) ? [pair[0], pair[1]] : undefined;
}

/** The field that every item of both lists has, with a value of its own in each list. */
function keyOf(field: Field | undefined, before: readonly Json[], after: readonly Json[]): string | undefined {
  const declared = mergeKey(field);
  if (declared === '') return undefined;
  const keys = declared === undefined ? usualKeys : [declared, ...usualKeys];
  return keys.find((key) => tellsApart(key, before) && tellsApart(key, after));
}

function tellsApart(key: string, items: readonly Json[]): boolean {
  const values = items.map((item) => (isJsonObject(item) ? item[key] : undefined));
  return values.every((value) => typeof value === 'string' || typeof value === 'number') && new Set(values).size === items.length;
}

/** False when every item is as it was: then only their order has changed. */
function compareItems(
  at: Place,
  key: string,
  before: readonly Json[],
  after: readonly Json[],
  found: FieldDifference[],
): boolean {
  const [old, now] = [byKey(before, key), byKey(after, key)];
  const count = found.length;
  for (const id of new Set([...old.keys(), ...now.keys()])) {
    const [was, is] = [old.get(id), now.get(id)];
    const item: Place = { path: `${at.path}[${key}=${id}]`, type: at.type };
    if (was && is) compare(item, was, is, found);
    else found.push({ path: item.path, before: was, after: is });
  }
  return found.length > count;
}

function byKey(items: readonly Json[], key: string): Map<Json | undefined, JsonObject> {
  return new Map((items as readonly JsonObject[]).map((item) => [item[key], item]));
}

function memberOf({ path, type }: Place, name: string): Place {
  const field = type && fieldsTo(type, name)?.at(-1);
  const inner = field && !field.map && field.resolvedType instanceof protobuf.Type ? field.resolvedType : undefined;
  const step = plainName.test(name) ? `${path === '' ? '' : '.'}${name}` : `[${JSON.stringify(name)}]`;
  return { path: path + step, type: inner, field };
}
