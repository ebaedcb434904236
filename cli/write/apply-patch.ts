import { isDeepStrictEqual } from 'node:util';
import type { Field, Type } from 'protobufjs';
import { fieldsTo } from '../../api/codec/message-fields.ts';
import { innerType, isReplaced, mergeKey, ORDER, REMOVE_ITEMS, retainsKeys } from '../../api/codec/strategic-merge.ts';
import { badRequest } from '../../api/errors/index.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { annotations as wellKnown } from '../../api/meta/well-known.ts';

/**
 * The strategic merge patch that brings `live` to what `wanted` says: fields that `wanted` sets and `live` has
 * differently are set, fields and list items that were applied before (`applied`) and are gone from `wanted` are
 * removed, everything else in `live` is left alone, also when it changes before the patch arrives. `type` is the
 * message of the three. Undefined when there is nothing to change.
 */
export function computeApplyPatch(
  applied: JsonObject | undefined,
  wanted: JsonObject,
  live: JsonObject,
  type?: Type,
): JsonObject | undefined {
  const patch: JsonObject = {};
  for (const [key, value] of Object.entries(wanted)) {
    const field = type && fieldsTo(type, key)?.at(-1);
    const current = live[key];
    const before = applied?.[key];
    if (isJsonObject(value) && isJsonObject(current)) {
      const inner = changeOf(field, isJsonObject(before) ? before : undefined, value, current);
      if (inner !== undefined) patch[key] = inner;
    } else if (Array.isArray(value) && Array.isArray(current)) {
      Object.assign(
        patch,
        listChange(field, key, { applied: Array.isArray(before) ? before : [], wanted: value, live: current }),
      );
    } else if (!contains(current, value)) {
      patch[key] = value;
    }
  }
  for (const key of Object.keys(applied ?? {})) {
    if (!(key in wanted) && live[key] !== undefined) patch[key] = null;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** The patch of a field's message. */
function changeOf(
  field: Field | undefined,
  applied: JsonObject | undefined,
  wanted: JsonObject,
  live: JsonObject,
): JsonObject | undefined {
  if (isReplaced(field)) return isDeepStrictEqual(wanted, live) ? undefined : wanted;
  const change = computeApplyPatch(applied, wanted, live, innerType(field));
  const hasOthers = Object.keys(live).some((key) => !(key in wanted));
  if (!retainsKeys(field) || (!change && !hasOthers)) return change;
  return { ...change, $retainKeys: Object.keys(wanted).sort() };
}

interface Lists {
  readonly applied: readonly Json[];
  readonly wanted: readonly Json[];
  readonly live: readonly Json[];
}

/** The members of the patch that make a list as it should be; none when it is so. */
function listChange(field: Field | undefined, name: string, lists: Lists): JsonObject {
  const { applied, wanted, live } = lists;
  const key = mergeKey(field);
  if (key === '') return plainChange(name, lists);
  const change = key === undefined ? undefined : keyedChange(field, name, key, lists);
  if (change) return change;
  // What was applied, and is no longer wanted, may stand in an item.
  const isDropped = applied.length > 0 && !contains(wanted as Json[], applied as Json[]);
  if (contains(live as Json[], wanted as Json[]) && !isDropped) return {};
  return { [name]: key === undefined ? [...wanted] : [{ $patch: 'replace' }, ...wanted] };
}

function plainChange(name: string, { applied, wanted, live }: Lists): JsonObject {
  const added = wanted.filter((value) => !live.includes(value));
  const removed = applied.filter((value) => live.includes(value) && !wanted.includes(value));
  if (added.length + removed.length === 0 && isInOrder(wanted, live)) return {};
  return {
    [`${ORDER}${name}`]: [...wanted],
    ...(added.length > 0 && { [name]: added }),
    ...(removed.length > 0 && { [`${REMOVE_ITEMS}${name}`]: removed }),
  };
}

/** Of a list whose items are merged by a key. Undefined when they cannot be told apart by it. */
function keyedChange(field: Field | undefined, name: string, key: string, lists: Lists): JsonObject | undefined {
  const [before, next, current] = [lists.applied, lists.wanted, lists.live].map((items) => byName(items, key));
  if (!before || !next || !current) return undefined;
  const keyOf = (item: JsonObject): JsonObject => ({ [key]: item[key]! });
  const changed = [...next].flatMap(([each, item]) => {
    const present = current.get(each);
    if (!present) return [item];
    const change = changeOf(field, before.get(each), item, present);
    return change ? [{ ...keyOf(item), ...change }] : [];
  });
  const deleted = [...before]
    .filter(([each]) => current.has(each) && !next.has(each))
    .map(([, item]) => ({ ...keyOf(item), $patch: 'delete' }));
  const items = [...changed, ...deleted];
  if (items.length === 0 && isInOrder([...next.keys()], [...current.keys()])) return {};
  return { [`${ORDER}${name}`]: [...next.values()].map(keyOf), ...(items.length > 0 && { [name]: items }) };
}

/** Whether what both lists have stands in the same order. */
function isInOrder(wanted: readonly Json[], live: readonly Json[]): boolean {
  const places = new Map(live.map((value, at) => [value, at]));
  const known = wanted.flatMap((value) => places.get(value) ?? []);
  return known.every((place, at) => at === 0 || known[at - 1]! <= place);
}

/** Undefined when two items have one name, or one has none. */
function byName(items: readonly Json[], key: string): Map<string, JsonObject> | undefined {
  const named = new Map<string, JsonObject>();
  for (const item of items) {
    const name = isJsonObject(item) && item[key] !== undefined ? JSON.stringify(item[key]) : undefined;
    if (name === undefined || named.has(name)) return undefined;
    named.set(name, item as JsonObject);
  }
  return named;
}

/** Whether everything that `wanted` says stands in `live`, which may say more (defaults). */
function contains(live: Json | undefined, wanted: Json): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length && wanted.every((item, at) => contains(live[at], item));
  }
  if (isJsonObject(wanted))
    return isJsonObject(live) && Object.entries(wanted).every(([key, value]) => contains(live[key], value));
  return live === wanted;
}

/** What the note may take: the annotations of an object together are at most 256 KiB. */
const noteMaxBytes = 255 * 1024;

/**
 * The manifest with itself noted in an annotation, so that the next apply knows which fields were ours.
 * Throws where it has no room.
 */
export function withLastApplied(wanted: JsonObject): JsonObject {
  const metadata = isJsonObject(wanted.metadata) ? wanted.metadata : {};
  const annotations = { ...(isJsonObject(metadata.annotations) ? metadata.annotations : {}) };
  delete annotations[wellKnown.lastApplied];
  const note = JSON.stringify({ ...wanted, metadata: { ...metadata, annotations } });
  if (Buffer.byteLength(note) > noteMaxBytes) {
    const why = 'is too large for apply, which notes the manifest in an annotation of at most 256 KiB';
    throw badRequest(`${String(wanted.kind).toLowerCase()} "${String(metadata.name)}" ${why}; use create -f and replace -f`);
  }
  return { ...wanted, metadata: { ...metadata, annotations: { ...annotations, [wellKnown.lastApplied]: `${note}\n` } } };
}
