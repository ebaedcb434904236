import protobuf, { type Field, type Type } from 'protobufjs';
import { compareFields } from '../apply/compare.ts';
import { deduced, type FieldType } from '../apply/field-type.ts';
import { equalValues } from '../meta/equal.ts';
import { type FieldSet, isEmptySet, SELF } from '../meta/field-set.ts';
import type { JsonObject } from '../meta/merge-patch.ts';
import { isAtomicField } from './atomic-fields.ts';
import { messageType } from './descriptors.ts';
import { isOpen } from './open-message.ts';

/** Which fields were added or got another value, and which are gone (each with everything below it). */
export interface FieldChanges {
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

type Values = Readonly<Record<string, unknown>>;

const INLINE = '(berth.meta.v1.inline)';
const LIST_TYPE = '(berth.meta.v1.list_type)';
const LIST_KEYS = '(berth.meta.v1.list_map_key)';
/** Messages that are one value in the JSON form. */
const VALUES = ['Timestamp', 'Duration', 'Quantity', 'IntOrString', 'FieldsV1', 'RawExtension'];

/**
 * Compares two values of a message in the in-memory form. Parts that are the same value cost nothing. `type` is that of
 * the members of a kind that users added; without it objects are looked into, and everything else is one value.
 */
export function fieldChanges(messageName: string, before: object, after: object, type: FieldType = deduced): FieldChanges {
  const changes: FieldChanges = { changed: {}, removed: {} };
  compareMessages(messageType(messageName), before as Values, after as Values, changes);
  if (!isOpen(messageName)) return changes;
  const { changed, removed } = compareFields(type, contentOf(before), contentOf(after));
  return { changed: { ...changes.changed, ...changed }, removed: { ...changes.removed, ...removed } };
}

const contentOf = ({ metadata: _, ...members }: { readonly metadata?: unknown }): JsonObject => members as JsonObject;

function compareMessages(type: Type, before: Values, after: Values, to: FieldChanges): void {
  for (const part of partsOf(type)) {
    const [old, next] = [before[part.name], after[part.name]];
    if (Object.is(old, next)) continue;
    // The members of an inlined message stand in the message that holds it.
    if (part.isInline && part.inner) compareMessages(part.inner, (old ?? {}) as Values, (next ?? {}) as Values, to);
    else compareValues(part, old, next, to);
  }
}

/** What the comparison asks of a field, read from its descriptor once. */
interface Part {
  readonly name: string;
  readonly step: string;
  /** Of a message, a list or a map: that of its items, as far as they are compared part by part. */
  readonly inner: Type | undefined;
  readonly isInline: boolean;
  readonly isMap: boolean;
  readonly isList: boolean;
  /** Whether it, or each item of it, is one value. */
  readonly isWhole: boolean;
  readonly listType: 'map' | 'set' | undefined;
  /** Sorted. */
  readonly keys: readonly string[];
}

const known = new WeakMap<Type, readonly Part[]>();

function partsOf(type: Type): readonly Part[] {
  const made = known.get(type);
  if (made) return made;
  const parts = type.fieldsArray.map(partOf);
  known.set(type, parts);
  return parts;
}

function partOf(field: Field): Part {
  const listType: unknown = field.options?.[LIST_TYPE];
  const isList = !field.map && field.repeated;
  return {
    name: field.name,
    step: `f:${field.name}`,
    inner: messageOf(field),
    isInline: Boolean(field.options?.[INLINE]),
    isMap: field.map,
    isList,
    isWhole: isAtomicField(field),
    listType: listType === 'map' || listType === 'set' ? listType : undefined,
    keys: [(field.options?.[LIST_KEYS] ?? []) as string | string[]].flat().sort(),
  };
}

function messageOf(field: Field): Type | undefined {
  const { resolvedType } = field.resolve();
  return resolvedType instanceof protobuf.Type && !VALUES.includes(resolvedType.name) ? resolvedType : undefined;
}

function compareValues(part: Part, old: unknown, next: unknown, to: FieldChanges): void {
  const { step } = part;
  const isNew = isAbsent(part, old);
  if (isAbsent(part, next)) {
    if (!isNew) to.removed[step] = {};
    return;
  }
  // A new map or list is recorded as a field itself; a new message by its members, or itself when it has none.
  const parts: FieldChanges = { changed: isNew && isCollection(part) ? { [SELF]: {} } : {}, removed: {} };
  if (!compareParts(part, old, next, parts)) {
    if (!equalValues(old, next)) to.changed[step] = {};
    return;
  }
  if (!isEmptySet(parts.changed)) to.changed[step] = isOnlySelf(parts.changed) ? {} : parts.changed;
  else if (isNew) to.changed[step] = {};
  if (!isEmptySet(parts.removed)) to.removed[step] = parts.removed;
}

const isNothing = (value: unknown): boolean => value === undefined || value === null;
/** An empty map or list is written as none. */
const isAbsent = (part: Part, value: unknown): boolean =>
  isNothing(value) || (isCollection(part) && Object.keys(value as object).length === 0);
const isCollection = ({ isMap, isList }: Part): boolean => isMap || isList;
const isOnlySelf = (set: FieldSet): boolean => Object.keys(set).length === 1 && Object.hasOwn(set, SELF);

/** False for what has no parts of its own: plain values, and maps, messages and lists that are one value. */
function compareParts(part: Part, old: unknown, next: unknown, parts: FieldChanges): boolean {
  const { isMap, isList, isWhole } = part;
  if (isWhole && !isList) return false;
  const inner = isWhole ? undefined : part.inner;
  if (isMap) {
    compareEntries((old ?? {}) as Values, next as Values, parts);
    return true;
  }
  if (!isList) {
    if (inner) compareMessages(inner, (old ?? {}) as Values, next as Values, parts);
    return inner !== undefined;
  }
  const [before, after] = [itemsOfList(part, old), itemsOfList(part, next)];
  if (before && after) compareItems(before, after, inner, parts);
  return before !== undefined && after !== undefined;
}

type Items = ReadonlyMap<string, unknown>;

/** Of a map; makes nothing for entries that are equal, because a ConfigMap may have very many. */
function compareEntries(before: Values, after: Values, to: FieldChanges): void {
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) to.removed[`f:${key}`] = {};
  for (const key of Object.keys(after))
    if (!Object.hasOwn(before, key) || !equalValues(before[key], after[key])) to.changed[`f:${key}`] = {};
}

/**
 * The items by what tells them apart; undefined for a list that is one value,
 * or in which two items cannot be told apart.
 */
function itemsOfList({ listType, keys }: Part, value: unknown): Items | undefined {
  if (listType === undefined) return undefined;
  const list = (value ?? []) as readonly unknown[];
  const items = new Map<string, unknown>();
  for (const item of list) items.set(listType === 'set' ? `v:${JSON.stringify(item)}` : keyStep(keys, item as Values), item);
  return items.size === list.length ? items : undefined;
}

function keyStep(keys: readonly string[], item: Values): string {
  const said = keys.filter((key) => !isNothing(item[key])).map((key) => `${JSON.stringify(key)}:${JSON.stringify(item[key])}`);
  return `k:{${said.join(',')}}`;
}

function compareItems(before: Items, after: Items, inner: Type | undefined, to: FieldChanges): void {
  for (const step of before.keys()) if (!after.has(step)) to.removed[step] = {};
  for (const [step, item] of after) {
    const old = before.get(step);
    if (inner === undefined) {
      if (!before.has(step) || !equalValues(old, item)) to.changed[step] = {};
      continue;
    }
    const parts: FieldChanges = { changed: before.has(step) ? {} : { [SELF]: {} }, removed: {} };
    compareMessages(inner, (old ?? {}) as Values, item as Values, parts);
    if (!isEmptySet(parts.changed)) to.changed[step] = isOnlySelf(parts.changed) ? {} : parts.changed;
    if (!isEmptySet(parts.removed)) to.removed[step] = parts.removed;
  }
}
