import { ApiError, notFound } from '../../api/errors/index.ts';
import type { DeleteOptions, ListOptions } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { type Admission, composeAdmission } from '../admission/admission.ts';
import { namespaceLifecycle } from '../admission/namespace-lifecycle.ts';
import type { Entry } from '../watch/entry.ts';
import type { KindCache } from '../watch/kind-cache.ts';
import { deleteObject } from './delete.ts';
import { KindStore, type ObjectName, type StoreEnvironment, type WriteContext } from './kind-store.ts';
import { awaitVersion, listObjects, parseVersion } from './list.ts';

/** The stores of all kinds and the rules between them. */
export interface Registry {
  readonly stores: ReadonlyMap<string, KindStore>;
  readonly admission: Admission;
  /** Throws NOT_FOUND for a kind that this server does not have. */
  store(kind: string): KindStore;
}

/** Makes the stores over caches that somebody feeds; starts nothing. */
export function createRegistry(caches: Iterable<KindCache>, environment: StoreEnvironment): Registry {
  const stores = new Map<string, KindStore>();
  for (const cache of caches) stores.set(cache.kind.kind, new KindStore(cache, environment));
  const store = (kind: string): KindStore => {
    const found = stores.get(kind);
    if (!found)
      throw new ApiError(
        'NOT_FOUND',
        'NotFound',
        `this server has no kind "${kind}"; the service berth.meta.v1.Objects lists its kinds`,
      );
    return found;
  };
  const readNamespace = async (name: string) => {
    const namespaces = store('Namespace');
    const entry = await namespaces.read({ namespace: '', name });
    return entry && namespaces.cache.decoder.decode(entry);
  };
  return { stores, admission: composeAdmission([namespaceLifecycle(readNamespace)]), store };
}

/** Reads one object. A resourceVersion means "at least as new as". */
export async function getObject(store: KindStore, at: ObjectName, resourceVersion: string): Promise<Entry> {
  const version = parseVersion(resourceVersion);
  if (version > store.cache.revision) await awaitVersion(store, version);
  await store.fresh();
  const entry = store.cache.get(store.key(at));
  if (!entry) throw notFound(store.subject(at));
  return entry;
}

export interface DeleteManyInput {
  readonly namespace: string;
  readonly listOptions: ListOptions;
  readonly options: DeleteOptions;
}

/** Deletes all objects that the selectors choose, one after the other; answers how many. One that is gone already does not count. */
export async function deleteObjects(store: KindStore, input: DeleteManyInput, context: WriteContext): Promise<number> {
  let deleted = 0;
  let token = '';
  do {
    const { resourceVersion: _, resourceVersionMatch: __, ...rest } = input.listOptions;
    const options = token ? { ...rest, continue: token } : input.listOptions;
    const page = await listObjects(store, { namespace: input.namespace, options });
    for (const entry of page.items) deleted += await deleteOne(store, entry, input.options, context);
    token = page.metadata.continue ?? '';
  } while (token !== '');
  return deleted;
}

async function deleteOne(store: KindStore, entry: Entry, options: DeleteOptions, context: WriteContext): Promise<number> {
  try {
    await deleteObject(store, namesOf(store.kind, entry), options, context);
    return 1;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NOT_FOUND') return 0;
    throw error;
  }
}

function namesOf(kind: Kind, { key }: Entry): ObjectName {
  const [, first = '', second = ''] = key.split('/');
  return kind.namespaced ? { namespace: first, name: second } : { namespace: '', name: first };
}
