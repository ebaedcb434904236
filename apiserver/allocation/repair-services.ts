import type { Logger } from 'pino';
import type { Service } from '../../api/generated/types.ts';
import type { AnyObject } from '../registry/any-object.ts';
import { cloneObject } from '../registry/clone-object.ts';
import type { KindStore } from '../registry/kind-store.ts';
import type { Registry } from '../registry/registry.ts';
import { serverContext } from '../registry/server-context.ts';
import type { Entry } from '../watch/entry.ts';
import { placeOf } from '../watch/entry.ts';
import type { ServiceAllocator } from './service-allocator.ts';
import { lacksAddress, lacksHealthPort, portsWithoutNodePort } from './service-numbers.ts';

/** How many services are written at once. */
const WORKERS = 32;

/**
 * Gives services of a store of an earlier version the addresses and node ports that they lack, once, before the server
 * listens. What cannot be put right without taking something away from a service is logged, and so is a service that
 * cannot be completed.
 */
export async function repairServices(registry: Registry, allocator: ServiceAllocator, log: Logger): Promise<void> {
  const store = registry.stores.get('Service');
  if (!store) return;
  for (const finding of allocator.findings()) log.warn(finding);
  const lacking = store.cache
    .range(store.keyPrefix)
    .filter((entry) => isLacking(store, entry))
    [Symbol.iterator]();
  let repaired = 0;
  const work = async (): Promise<void> => {
    for (const { key } of lacking) {
      const at = placeOf(key);
      const compute = (previous: AnyObject): AnyObject => {
        // The store completes a version by itself, and passes over one that it cannot: what is in the way is told here.
        allocator.complete({ key, subject: store.subject(at), next: cloneObject(previous), previous });
        return cloneObject(previous);
      };
      try {
        await store.change(at, { context: serverContext, verb: 'patch', compute });
        repaired++;
      } catch (err) {
        log.error({ err, service: at }, 'cannot give a service what it lacks');
      }
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  if (repaired > 0) log.info({ services: repaired }, 'gave services the addresses and node ports that they lacked');
}

function isLacking({ cache }: KindStore, entry: Entry): boolean {
  let isSo = false;
  cache.attempt(entry.key, () => {
    const { spec } = cache.decoder.decode(entry) as Service;
    isSo = spec !== undefined && (lacksAddress(spec) || lacksHealthPort(spec) || portsWithoutNodePort(spec).length > 0);
  });
  return isSo;
}
