import { fromJson, toJson } from '../../api/codec/json.ts';
import { conflict, isConflict } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { scaleKind } from '../../api/kinds/scale.ts';
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
  { kind, key, subresource }: EditedPart,
  { before, after }: { readonly before: JsonObject; readonly after: JsonObject },
  options: WriteOptions,
): Promise<JsonObject | undefined> {
  const patch = computeMergePatch(before, partOf(after, before, subresource));
  if (patch === undefined) return undefined;
  let live = before;
  for (let attempt = 1; ; attempt++) {
    try {
      return await objects.patch(kindWord(kind), { ...key, subresource }, onVersion(patch, live), options);
    } catch (error) {
      if (!isConflict(error) || attempt === maxAttempts) throw error;
    }
    live = await readPart(objects, { kind, key, subresource });
    if (!isUntouched(patch, before, live) || metadataOf(live).uid !== metadataOf(before).uid)
      throw conflict({ kind: kind.kind, ...key }, 'another client changed the same fields meanwhile');
  }
}

/** The JSON form as this program writes it, so that two versions can be compared. */
export function normalized(kind: Target['kind'], object: JsonObject): JsonObject {
  return toJson(kind, fromJson(kind, object));
}

/** What is edited: an object, or a subresource of it. */
export interface EditedPart extends Target {
  readonly subresource?: string | undefined;
}

/** What a part is written as: a Scale, or the object. */
export function formOf({ kind, subresource }: EditedPart): Kind {
  return subresource === 'scale' ? (scaleKind as Kind) : kind;
}

/** A part as it is now, in the form of this program. */
export async function readPart(objects: ObjectsClient, part: EditedPart): Promise<JsonObject> {
  const { kind, key, subresource } = part;
  return normalized(formOf(part), await objects.get(kindWord(kind), { ...key, ...(subresource === 'scale' && { subresource }) }));
}

/** Changes of what is not edited are dropped here: the status, or with `--subresource=status` everything else. */
function partOf(after: JsonObject, before: JsonObject, subresource: string | undefined): JsonObject {
  if (subresource === 'scale') return after;
  const { status: edited, ...rest } = after;
  if (subresource === 'status') return withStatus(before, edited);
  return withStatus(rest, before.status);
}

function withStatus(object: JsonObject, status: JsonObject[string] | undefined): JsonObject {
  const { status: _, ...rest } = object;
  return status === undefined ? rest : { ...rest, status };
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
