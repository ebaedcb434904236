import { isNotFound } from '../../api/errors/index.ts';
import { deleteObject } from '../registry/delete.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { serverContext } from '../registry/server-context.ts';
import { untouchedStore } from '../registry/stored-versions.ts';
import { placeOf } from '../watch/entry.ts';

/** Deletions that are under way together; between two batches the server attends to other kinds, or stops. */
export const EMPTY_BATCH = 100;

/**
 * Deletes the next objects of a kind behind a key, at most a batch of them. Gives the key of the last one; undefined
 * when there are none behind the key.
 */
export async function emptyKind(store: KindStore, after?: string): Promise<string | undefined> {
  await store.fresh();
  const keys = store.cache.range(store.keyPrefix, after).slice(0, EMPTY_BATCH);
  const untouched = untouchedStore(store);
  await Promise.all(keys.map(({ key }) => remove(untouched, key)));
  return keys.at(-1)?.key;
}

/** Whether the disk has no object of the kind: a create that was under way may not be shown yet. */
export async function isEmptied(store: KindStore): Promise<boolean> {
  return (await store.storage.list(store.keyPrefix, { limit: 1 })).items.length === 0;
}

async function remove(store: KindStore, key: string): Promise<void> {
  try {
    await deleteObject(store, placeOf(key), {}, serverContext);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
