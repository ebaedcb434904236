import {
  type ApiObject,
  type Client,
  isNotFound,
  kinds,
  listAll,
  type ObjectKey,
  type ResourceClient,
} from '../../../client/index.ts';

const kept: readonly string[] = ['canary'];

/** Removes everything that was made, whatever keeps it, so that what the server holds then is not objects. */
export async function sweep(client: Client): Promise<number> {
  let removed = 0;
  for (const kind of kinds) {
    const resource = client.resource(kind) as ResourceClient<ApiObject>;
    for (const { metadata } of (await listAll(resource)).items) {
      const key: ObjectKey = { name: metadata?.name ?? '', ...(metadata?.namespace ? { namespace: metadata.namespace } : {}) };
      if (kept.includes(key.namespace ?? '') || kept.includes(key.name)) continue;
      await remove(resource, key);
      removed++;
    }
  }
  return removed;
}

async function remove(resource: ResourceClient<ApiObject>, key: ObjectKey): Promise<void> {
  await resource.patch(key, { metadata: { finalizers: null } }).catch(ignoreRefusal);
  await resource.delete(key, { gracePeriodSeconds: 0 }).catch(ignoreRefusal);
}

/** Gone meanwhile, or one of the namespaces that stay. */
function ignoreRefusal(error: unknown): undefined {
  if (isNotFound(error) || (error as { code?: string }).code === 'PERMISSION_DENIED') return undefined;
  throw error;
}
