import { isCancelled, isExpired, isNotFound } from '../api/errors/index.ts';
import type { ApiObject } from '../api/kinds/kind.ts';
import type { ObjectKey, ResourceClient } from '../client/index.ts';

/**
 * Waits until one object is as wanted (undefined: it does not exist), reading it first and then following its changes.
 * Returns false when the signal aborted before that.
 */
export async function waitForObject<T extends ApiObject>(
  client: ResourceClient<T>,
  key: ObjectKey,
  isWanted: (object: T | undefined) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted) {
    const page = await client.list({ namespace: key.namespace, fieldSelector: `metadata.name=${key.name}` });
    if (isWanted(page.items[0])) return true;
    const scope = {
      namespace: key.namespace,
      fieldSelector: `metadata.name=${key.name}`,
      resourceVersion: page.metadata.resourceVersion,
    };
    try {
      for await (const events of client.watch(scope, { signal })) {
        for (const event of events) {
          if (event.type !== 'BOOKMARK' && isWanted(event.type === 'DELETED' ? undefined : event.object)) return true;
        }
      }
    } catch (error) {
      if (isCancelled(error)) return false;
      if (!isExpired(error) && !isNotFound(error)) throw error;
    }
  }
  return false;
}
