import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import { badRequest } from '../../api/errors/index.ts';
import { applyJsonPatch, parseJsonPatch } from '../../api/meta/json-patch.ts';
import { isJsonObject, type Json, type JsonObject, mergePatch } from '../../api/meta/merge-patch.ts';
import type { OverrideType } from './override-types.ts';

/**
 * The object with what `--overrides` says, which is a patch of it. `messageName` is that of its kind.
 * Throws INVALID_ARGUMENT.
 */
export function override(messageName: string, object: JsonObject, text: string, type: OverrideType): JsonObject {
  const patch = parseJson(text);
  if (type === 'json') return objectOf(applyJsonPatch(object, parseJsonPatch(patch)));
  if (!isJsonObject(patch)) throw badRequest(`--overrides takes a JSON object with --override-type=${type}; a list is for json`);
  return objectOf(type === 'merge' ? mergePatch(object, patch) : strategicMerge(messageName, object, patch));
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw badRequest(`--overrides is no JSON: ${(error as Error).message}`);
  }
}

function objectOf(value: Json): JsonObject {
  if (isJsonObject(value) && value.kind === 'Pod') return value;
  throw badRequest('--overrides must leave a Pod');
}
