import { asApiError } from '../../api/errors/index.ts';
import type { DeleteOptions, ListOptions } from '../../api/generated/types.ts';
import { type Entry, placeOf } from '../watch/entry.ts';
import { deleteObject } from './delete.ts';
import type { KindStore } from './kind-store.ts';
import { listObjects, tokenOf } from './reads/list.ts';
import type { WriteContext } from './write-context.ts';

export interface DeleteCollectionInput {
  readonly namespace: string;
  readonly listOptions: ListOptions;
  readonly options: DeleteOptions;
}

export interface DeletedCollection {
  /** How many were deleted. */
  readonly deleted: number;
  /** A continue token: the list of them as they were, from its first page on. */
  readonly listed: string;
}

/** Deletions of one moment reach the disk together; more at once would only crowd out other calls. */
const AT_ONCE = 32;

/**
 * Deletes the objects that the selectors choose, page by page; with `limit` only so many of them. One
 * that is gone already, or was made again since the list, does not count. One that cannot be deleted does not keep the
 * others: the first such failure is thrown at the end, a fault of the server's at once. Ends between two objects when
 * `signal` aborts, with its reason.
 */
export async function deleteCollection(
  store: KindStore,
  { namespace, listOptions, options }: DeleteCollectionInput,
  context: WriteContext,
  signal?: AbortSignal,
): Promise<DeletedCollection> {
  const failures: unknown[] = [];
  let deleted = 0;
  let page = listOptions;
  let listed = listOptions.continue;
  for (;;) {
    const request = { namespace, options: page };
    const { items, metadata } = await listObjects(store, request);
    listed ??= tokenOf(store, request, metadata);
    const left = items.values();
    let failed = false;
    const work = async (): Promise<void> => {
      for (const entry of left) {
        if (failed) return;
        signal?.throwIfAborted();
        if (await deleteListed(store, entry, options, context, failures)) deleted++;
      }
    };
    const stop = (error: unknown): never => {
      failed = true;
      throw error;
    };
    await Promise.all(Array.from({ length: AT_ONCE }, () => work().catch(stop)));
    if (!metadata.continue || listOptions.limit) break;
    const { resourceVersion: _, resourceVersionMatch: __, ...rest } = listOptions;
    page = { ...rest, continue: metadata.continue };
  }
  if (failures.length > 0) throw failures[0];
  return { deleted, listed };
}

async function deleteListed(
  store: KindStore,
  entry: Entry,
  options: DeleteOptions,
  context: WriteContext,
  failures: unknown[],
): Promise<boolean> {
  const own = options.preconditions?.uid;
  const uid = store.cache.decoder.decode(entry).metadata?.uid;
  const preconditions = { ...options.preconditions, ...(own || !uid ? {} : { uid }) };
  try {
    await deleteObject(store, placeOf(entry.key), { ...options, preconditions }, context);
    if (!context.dryRun) context.audited?.changed();
    return true;
  } catch (error) {
    const code = asApiError(error)?.code;
    if (code === 'NOT_FOUND' || (code === 'ABORTED' && !own && (await isAnother(store, entry, uid)))) return false;
    if (code === undefined || SERVER_FAULTS.includes(code)) throw error;
    failures.push(error);
    return false;
  }
}

const SERVER_FAULTS: readonly string[] = ['UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'INTERNAL', 'DEADLINE_EXCEEDED'];

async function isAnother(store: KindStore, { key }: Entry, uid: string | undefined): Promise<boolean> {
  const now = await store.read(placeOf(key));
  return !now || store.cache.decoder.decode(now).metadata?.uid !== uid;
}
