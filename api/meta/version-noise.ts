import { isJsonObject, type JsonObject } from './merge-patch.ts';

/** Where `apply` notes the manifest: a copy of what stands in the object anyway, also of a secret. */
export const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** What is different in every version and was written by nobody: managedFields and the version itself. */
const changesAlways = ['resourceVersion', 'managedFields'] as const;

/**
 * An object in JSON form without what would only disturb whoever compares two versions of it: version, managedFields and the note of what
 * was applied last. The argument is not changed.
 */
export function withoutNoise(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isJsonObject(metadata)) return object;
  const kept: JsonObject = { ...metadata };
  for (const name of changesAlways) delete kept[name];
  if (isJsonObject(kept.annotations) && lastAppliedAnnotation in kept.annotations) {
    const { [lastAppliedAnnotation]: _, ...annotations } = kept.annotations;
    if (Object.keys(annotations).length > 0) kept.annotations = annotations;
    else delete kept.annotations;
  }
  return { ...object, metadata: kept };
}
