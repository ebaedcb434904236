import { randomUUID } from 'node:crypto';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import { measureCaches } from './metrics.ts';
import { measureNamespaces } from './namespace-metrics.ts';
import type { ServerOptions } from './options.ts';
import { NamespaceLedger } from './registry/namespace-ledger.ts';
import { createRegistry, type Registry } from './registry/registry.ts';
import { servedKinds } from './served-kinds.ts';
import type { Storage } from './storage/storage.ts';
import { KindCache } from './watch/kind-cache.ts';

/** The registry of a server, over caches that are still empty. */
export interface ServerRegistry {
  readonly registry: Registry;
  /** By the first part of their keys: to be fed. */
  readonly caches: ReadonlyMap<string, KindCache>;
  readonly ledger: NamespaceLedger;
}

/** Makes the caches and stores of the kinds that the options name, and measures them; starts nothing. */
export function createServerRegistry(options: ServerOptions, storage: Storage, metrics: MetricsRegistry): ServerRegistry {
  const { log, ring = {} } = options;
  const caches = new Map(servedKinds(options).map((kind) => [kind.plural, new KindCache(kind, { bounds: ring, log })]));
  const ledger = new NamespaceLedger(options.namespaceLimits);
  const environment = { storage, now: () => new Date(), random: Math.random, uid: randomUUID, ledger };
  const registry = createRegistry(caches.values(), environment, options);
  measureCaches(metrics, [...caches.values()]);
  measureNamespaces(metrics, ledger);
  return { registry, caches, ledger };
}
