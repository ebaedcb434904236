import { badRequest } from '../../api/errors/index.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { annotations as wellKnown } from '../../api/meta/well-known.ts';

/**
 * The merge patch (RFC 7396) that brings `live` to what `wanted` says: fields that `wanted` sets and `live` has
 * differently are set, fields that were applied before (`applied`) and are gone from `wanted` are removed, everything
 * else in `live` is left alone. Lists are replaced as a whole. Undefined when there is nothing to change.
 */
export function computeApplyPatch(applied: JsonObject | undefined, wanted: JsonObject, live: JsonObject): JsonObject | undefined {
  const patch: JsonObject = {};
  for (const [key, value] of Object.entries(wanted)) {
    const current = live[key];
    if (isJsonObject(value) && isJsonObject(current)) {
      const before = applied?.[key];
      const inner = computeApplyPatch(isJsonObject(before) ? before : undefined, value, current);
      if (inner !== undefined) patch[key] = inner;
    } else if (!contains(current, value)) {
      patch[key] = value;
    }
  }
  for (const key of Object.keys(applied ?? {})) {
    if (!(key in wanted) && live[key] !== undefined) patch[key] = null;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
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
