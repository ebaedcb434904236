import { isDeepStrictEqual } from 'node:util';
import protobuf, { type Field, type Type } from 'protobufjs';
import { fieldsTo } from '../../api/codec/message-fields.ts';
import { mergeKey, retainsKeys } from '../../api/codec/strategic-merge.ts';
import { badRequest } from '../../api/errors/index.ts';
import { isJsonObject, type Json, type JsonObject, mergePatch } from '../../api/meta/merge-patch.ts';
import { annotations as wellKnown } from '../../api/meta/well-known.ts';

/**
 * The merge patch (RFC 7396) that brings `live` to what `wanted` says: fields that `wanted` sets and `live` has
 * differently are set, fields that were applied before (`applied`) and are gone from `wanted` are removed, everything
 * else in `live` is left alone. `type` is the message of the three: lists whose items it tells apart by a key are
 * treated likewise item by item, others are replaced as a whole. Undefined when there is nothing to change.
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
      const list = listOf(field, Array.isArray(before) ? before : undefined, value, current);
      if (list !== current) patch[key] = list;
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
  const type = field && !field.map && field.resolvedType instanceof protobuf.Type ? field.resolvedType : undefined;
  const change = computeApplyPatch(applied, wanted, live, type);
  if (!change || !retainsKeys(field)) return change;
  const others = Object.keys(live).filter((key) => !(key in wanted));
  return { ...Object.fromEntries(others.map((key) => [key, null])), ...change };
}

/** The list as it should be; `live` itself when it is so. */
function listOf(
  field: Field | undefined,
  applied: readonly Json[] | undefined,
  wanted: readonly Json[],
  live: readonly Json[],
): Json[] {
  const key = mergeKey(field);
  const next =
    key === undefined ? undefined : mergedList(applied ?? [], wanted, live, { nameOf: namesBy(key), merge: mergeItem(field) });
  if (next) return isDeepStrictEqual(next, live) ? (live as Json[]) : next;
  const isAsWanted = contains(live as Json[], wanted as Json[]);
  // What was applied, and is no longer wanted, may stand in an item.
  const isDropped = applied !== undefined && !contains(wanted as Json[], applied as Json[]);
  return isAsWanted && !isDropped ? (live as Json[]) : [...wanted];
}

type NameOf = (item: Json) => string | undefined;
type MergeItem = (applied: Json | undefined, wanted: Json, live: Json) => Json;

/** What tells an item from the others of its list: its key, or for the key "" its value. */
const namesBy =
  (key: string): NameOf =>
  (item) => {
    const name = key === '' ? item : isJsonObject(item) ? item[key] : undefined;
    return name === undefined ? undefined : JSON.stringify(name);
  };

const mergeItem =
  (field: Field | undefined): MergeItem =>
  (applied, wanted, live) => {
    if (!isJsonObject(wanted) || !isJsonObject(live)) return wanted;
    const change = changeOf(field, isJsonObject(applied) ? applied : undefined, wanted, live);
    return change === undefined ? live : mergePatch(live, change);
  };

/**
 * The items of `live` without those that were applied and are no longer wanted, and with those that are wanted: in the
 * order of `live` where that is the wanted one, too. Undefined when items cannot be told apart.
 */
function mergedList(
  applied: readonly Json[],
  wanted: readonly Json[],
  live: readonly Json[],
  { nameOf, merge }: { readonly nameOf: NameOf; readonly merge: MergeItem },
): Json[] | undefined {
  const [before, next, current] = [applied, wanted, live].map((items) => byName(items, nameOf));
  if (!before || !next || !current) return undefined;
  const itemOf = (name: string): Json => {
    const [item, present] = [next.get(name), current.get(name)];
    if (item === undefined) return present!;
    return present === undefined ? item : merge(before.get(name), item, present);
  };
  const kept = [...current.keys()].filter((name) => next.has(name) || !before.has(name));
  const known = kept.filter((name) => next.has(name));
  const names = [...next.keys()];
  const isInOrder = known.every((name, at) => names[at] === name);
  const order = isInOrder ? [...kept, ...names.slice(known.length)] : [...names, ...kept.filter((name) => !next.has(name))];
  return order.map(itemOf);
}

/** Undefined when two items have one name, or one has none. */
function byName(items: readonly Json[], nameOf: NameOf): Map<string, Json> | undefined {
  const named = new Map<string, Json>();
  for (const item of items) {
    const name = nameOf(item);
    if (name === undefined || named.has(name)) return undefined;
    named.set(name, item);
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

/**
 * What was applied last, as the live object remembers it; undefined when it was not made by apply, or cannot be read.
 */
export function readLastApplied(live: JsonObject): JsonObject | undefined {
  const metadata = isJsonObject(live.metadata) ? live.metadata : {};
  const text = isJsonObject(metadata.annotations) ? metadata.annotations[wellKnown.lastApplied] : undefined;
  if (typeof text !== 'string') return undefined;
  try {
    const value = JSON.parse(text) as Json;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
