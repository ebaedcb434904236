import { isJsonObject, type JsonObject } from './merge-patch.ts';
import { annotations } from './well-known.ts';

/** What is different in every version and was written by no user: managedFields and the version itself. */
const changesAlways = ['resourceVersion', 'managedFields'] as const;

/**
 * An object in JSON form without what would only disturb a comparison of two versions: version, managedFields and the
 * note of what was applied last. The argument is not changed.
 */
export function withoutNoise(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isJsonObject(metadata)) return object;
  const kept: JsonObject = { ...metadata };
  for (const name of changesAlways) delete kept[name];
  if (isJsonObject(kept.annotations) && annotations.lastApplied in kept.annotations) {
    const { [annotations.lastApplied]: _, ...others } = kept.annotations;
    if (Object.keys(others).length > 0) kept.annotations = others;
    else delete kept.annotations;
  }
  return { ...object, metadata: kept };
}
