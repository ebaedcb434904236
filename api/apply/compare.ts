import { equalValues } from '../meta/equal.ts';
import { type FieldSet, isEmptySet, SELF } from '../meta/field-set.ts';
import { isJsonObject, type Json, type JsonObject } from '../meta/merge-patch.ts';
import { type FieldType, type ListMapType, type SetType, typeOfValue } from './field-type.ts';
import { itemsByStep, memberStep } from './steps.ts';

/** What two values differ in. Objects, lists and items that one of them lacks are members as well as their leaves. */
export interface Comparison {
  /** The fields that were added or have another value. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** The difference at one place, undefined where there is none. */
type Parts = { changed?: FieldSet; removed?: FieldSet };

/** Compares two values of a type. Parts that are the same value cost nothing. */
export function compareFields(type: FieldType | undefined, before: Json, after: Json): Comparison {
  const { changed = {}, removed = {} } = compare(type, before, after);
  return { changed, removed };
}

function compare(type: FieldType | undefined, before: Json | undefined, after: Json | undefined): Parts {
  if (Object.is(before, after)) return {};
  const [old, next] = [typeOfValue(type, before ?? after), typeOfValue(type, after ?? before)];
  if (old.kind !== next.kind || next.kind === 'atomic' || (isVoid(before) && isVoid(after))) return compareLeaf(before, after);
  const parts: { changed: FieldSet; removed: FieldSet } = { changed: {}, removed: {} };
  if (next.kind === 'map') compareMembers(next, objectOf(before), objectOf(after), parts);
  else compareItems(next, listOf(before), listOf(after), parts);
  return {
    ...nonEmpty('changed', before === undefined ? withSelf(parts.changed) : parts.changed, before === undefined),
    ...nonEmpty('removed', after === undefined ? withSelf(parts.removed) : parts.removed, after === undefined),
  };
}

/** A value without parts of its own. */
const isVoid = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);

function compareLeaf(before: Json | undefined, after: Json | undefined): Parts {
  if (after === undefined) return { removed: {} };
  return before !== undefined && equalValues(before, after) ? {} : { changed: {} };
}

const withSelf = (parts: FieldSet): FieldSet => (isEmptySet(parts) ? {} : { [SELF]: {}, ...parts });

function nonEmpty(name: keyof Parts, set: FieldSet, isWhole: boolean): Parts {
  return isWhole || !isEmptySet(set) ? { [name]: set } : {};
}

const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});
const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

function compareMembers(
  type: Extract<FieldType, { kind: 'map' }>,
  before: JsonObject,
  after: JsonObject,
  to: { changed: FieldSet; removed: FieldSet },
): void {
  const own = (object: JsonObject, name: string) => (Object.hasOwn(object, name) ? object[name] : undefined);
  for (const name of Object.keys(after)) add(to, memberStep(name), compare(type.member(name), own(before, name), after[name]));
  for (const name of Object.keys(before))
    if (!Object.hasOwn(after, name)) add(to, memberStep(name), compare(type.member(name), before[name], undefined));
}

function compareItems(
  type: ListMapType | SetType,
  before: readonly Json[],
  after: readonly Json[],
  to: { changed: FieldSet; removed: FieldSet },
): void {
  const [old, next] = [itemsByStep(type, before), itemsByStep(type, after)];
  const item = type.kind === 'listMap' ? type.item() : undefined;
  const compareItem = (a: Json | undefined, b: Json | undefined): Parts => (item ? compare(item, a, b) : compareLeaf(a, b));
  for (const [step, value] of next) add(to, step, compareItem(old.get(step), value));
  for (const [step, value] of old) if (!next.has(step)) add(to, step, compareItem(value, undefined));
}

function add(to: { changed: FieldSet; removed: FieldSet }, step: string, { changed, removed }: Parts): void {
  if (changed) to.changed[step] = changed;
  if (removed) to.removed[step] = removed;
}
