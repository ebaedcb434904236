import { isAlreadyExists } from '../../api/errors/index.ts';
import { systemPriorityClasses } from '../../api/kinds/priority-class/system.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import type { AnyObject } from './any-object.ts';
import { createObject } from './create.ts';
import type { WriteContext } from './kind-store.ts';
import type { Registry } from './registry.ts';

/** Who the server writes as. */
export const serverContext: WriteContext = { user: 'system:apiserver', manager: 'apiserver', dryRun: false };

/** Makes the namespaces that Berth itself needs and the system's priority classes, where they are missing. */
export async function ensureObjects(registry: Registry): Promise<void> {
  for (const name of Object.values(namespaces)) await ensure(registry, 'Namespace', { metadata: { name } });
  if (!registry.stores.has('PriorityClass')) return;
  for (const priorityClass of systemPriorityClasses) await ensure(registry, 'PriorityClass', priorityClass);
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
