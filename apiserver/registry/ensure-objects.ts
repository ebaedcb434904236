import { isAlreadyExists } from '../../api/errors/index.ts';
import { systemPriorityClasses } from '../../api/kinds/priority-class/system.ts';
import { localPathClass } from '../../api/kinds/storage-class/local-path.ts';
import { annotations, namespaces } from '../../api/meta/well-known.ts';
import type { AnyObject } from './any-object.ts';
import { createObject } from './create.ts';
import type { WriteContext } from './kind-store.ts';
import type { Registry } from './registry.ts';
import { nextVersion } from './update.ts';

/** Who the server writes as. */
export const serverContext: WriteContext = { user: 'system:apiserver', manager: 'apiserver', dryRun: false };

/**
 * Makes the namespaces that Berth itself needs and the system's priority classes, where they are missing, and once, when there was none before, the
 * storage class for claims that name none.
 */
export async function ensureObjects(registry: Registry): Promise<void> {
  for (const name of Object.values(namespaces)) await ensure(registry, 'Namespace', { metadata: { name } });
  if (registry.stores.has('PriorityClass'))
    for (const priorityClass of systemPriorityClasses) await ensure(registry, 'PriorityClass', priorityClass);
  if (registry.stores.has('StorageClass')) await ensureOnce(registry);
}

/** The class is a user's to delete; that it was made is noted where it stays, after it was: two servers that start at once make it together. */
async function ensureOnce(registry: Registry): Promise<void> {
  const store = registry.store('Namespace');
  const at = { namespace: '', name: namespaces.system };
  const isMade = ({ metadata }: AnyObject) => metadata?.annotations?.[annotations.localPathClassMade] !== undefined;
  const system = await store.read(at);
  if (!system || isMade(store.cache.decoder.decode(system) as AnyObject)) return;
  await ensure(registry, 'StorageClass', localPathClass);
  const compute = (previous: AnyObject): AnyObject => {
    const next = structuredClone(previous);
    next.metadata = {
      ...next.metadata,
      annotations: { ...next.metadata?.annotations, [annotations.localPathClassMade]: 'true' },
    };
    return nextVersion(store, 'object', next, previous);
  };
  await store.change(at, { context: serverContext, verb: 'patch', compute });
}

async function ensure(registry: Registry, kind: string, wanted: AnyObject): Promise<void> {
  const store = registry.store(kind);
  if (await store.read({ namespace: '', name: wanted.metadata?.name ?? '' })) return;
  try {
    await createObject(store, registry.admission, () => ({ object: structuredClone(wanted), context: serverContext }));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
