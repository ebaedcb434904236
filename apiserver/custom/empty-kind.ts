import { isNotFound } from '../../api/errors/index.ts';
import { deleteObject } from '../registry/delete.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { serverContext } from '../registry/server-context.ts';
import { placeOf } from '../watch/entry.ts';

/** Deletions that are under way together. */
const batch = 100;

/** Deletes every object of a kind. Gives whether none is left; an object that a finalizer keeps is. */
export async function emptyKind(store: KindStore): Promise<boolean> {
  await store.fresh();
  const keys = store.cache.range(store.keyPrefix).map(({ key }) => key);
  for (let i = 0; i < keys.length; i += batch) await Promise.all(keys.slice(i, i + batch).map((key) => remove(store, key)));
  // As it is on the disk: a create that was under way when the deletion began may not be shown yet.
  const left = await store.storage.list(store.keyPrefix, { limit: 1 });
  return left.items.length === 0;
}

async function remove(store: KindStore, key: string): Promise<void> {
  try {
    await deleteObject(store, placeOf(key), {}, serverContext);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
