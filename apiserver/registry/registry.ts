import { ApiError, notFound } from '../../api/errors/index.ts';
import { type Admission, composeAdmission } from '../admission/admission.ts';
import { namespaceLifecycle } from '../admission/namespace-lifecycle.ts';
import type { Entry } from '../watch/entry.ts';
import type { KindCache } from '../watch/kind-cache.ts';
import { KindStore, type ObjectName, type StoreEnvironment } from './kind-store.ts';
import { awaitVersion, parseVersion } from './list.ts';

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
