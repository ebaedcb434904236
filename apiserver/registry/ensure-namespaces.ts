import { isAlreadyExists } from '../../api/errors/index.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import { createObject } from './create.ts';
import type { WriteContext } from './kind-store.ts';
import type { Registry } from './registry.ts';

/** Who the server writes as. */
export const serverContext: WriteContext = { user: 'system:apiserver', manager: 'apiserver', dryRun: false };

/** Makes the namespaces that Berth itself needs, where they are missing. */
export async function ensureNamespaces(registry: Registry): Promise<void> {
  const store = registry.store('Namespace');
  for (const name of Object.values(namespaces)) {
    if (await store.read({ namespace: '', name })) continue;
    try {
      await createObject(store, registry.admission, () => ({ object: { metadata: { name } }, context: serverContext }));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}
