import { fromJson, toJson } from '../../api/codec/json.ts';
import { conflict, isConflict } from '../../api/errors/index.ts';
import { computeMergePatch, isUntouched, type JsonObject } from '../../api/meta/merge-patch.ts';
import type { ObjectsClient } from '../../client/index.ts';
import type { Target } from '../get/targets.ts';

type WriteOptions = Parameters<ObjectsClient['patch']>[3];

/** How often a change is sent again after a conflict. */
const maxAttempts = 10;

/**
 * Saves what a person changed of `before`, as a patch of just that. When another writer changed the object meanwhile,
 * the patch is put on top of it, unless both changed the same: then it throws ABORTED. Undefined when nothing was
 * changed.
 */
export async function saveEdit(
  objects: ObjectsClient,
  { kind, key }: Target,
  { before, after }: { readonly before: JsonObject; readonly after: JsonObject },
  options: WriteOptions,
): Promise<JsonObject | undefined> {
  const patch = computeMergePatch(before, withoutStatus(after, before));
  if (patch === undefined) return undefined;
  let live = before;
  for (let attempt = 1; ; attempt++) {
    try {
      return await objects.patch(kind.kind, key, onVersion(patch, live), options);
    } catch (error) {
      if (!isConflict(error) || attempt === maxAttempts) throw error;
    }
    live = normalized(kind, await objects.get(kind.kind, key));
    if (!isUntouched(patch, before, live) || metadataOf(live).uid !== metadataOf(before).uid)
      throw conflict({ kind: kind.kind, ...key }, 'somebody else changed the same fields meanwhile');
  }
}

/** The JSON form as this program writes it, so that two versions can be compared. */
export function normalized(kind: Target['kind'], object: JsonObject): JsonObject {
  return toJson(kind, fromJson(kind, object));
}

/** The status is a subresource: changes of it are dropped here. */
function withoutStatus(after: JsonObject, before: JsonObject): JsonObject {
  const { status: _, ...rest } = after;
  return before.status === undefined ? rest : { ...rest, status: before.status };
}

function onVersion(patch: JsonObject, live: JsonObject): JsonObject {
  const { uid, resourceVersion } = metadataOf(live);
  return {
    ...patch,
    metadata: { ...(patch.metadata as JsonObject | undefined), ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
  };
}

function metadataOf(object: JsonObject): { readonly uid?: string; readonly resourceVersion?: string } {
  return (object.metadata ?? {}) as { uid?: string; resourceVersion?: string };
}
