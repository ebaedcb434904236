import { isNotFound } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject, ObjectsClient } from '../../client/index.ts';

/** An object, now or at the moment of the key; undefined where there is none. */
export async function findObject(
  objects: ObjectsClient,
  kind: Kind,
  key: Parameters<ObjectsClient['get']>[1],
): Promise<JsonObject | undefined> {
  try {
    return await objects.get(kindWord(kind), key);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
