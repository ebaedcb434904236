import { randomUUID } from 'node:crypto';
import { kindId } from '../api/kinds/index.ts';
import type { Kind } from '../api/kinds/kind.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import { DynamicAdmission } from './admission/dynamic.ts';
import { Policies } from './admission/policies/policies.ts';
import { WebhookTargets } from './admission/webhooks/webhook-targets.ts';
import { parseServiceRanges } from './allocation/ranges.ts';
import { ServiceAllocator } from './allocation/service-allocator.ts';
import { measureCaches } from './metrics.ts';
import { measureNamespaces } from './namespace-metrics.ts';
import type { ServerOptions } from './options.ts';
import { ensureCollected, forgetCollected } from './registry/keepers/ensure-objects.ts';
import { KindStore } from './registry/kind-store.ts';
import { findLease, LeaseTerms } from './registry/lease-terms.ts';
import { composeLedgers } from './registry/ledgers/ledger.ts';
import { NamespaceLedger } from './registry/ledgers/namespace-ledger.ts';
import { QuotaLedger } from './registry/ledgers/quota-ledger.ts';
import { createRegistry, type Registry } from './registry/registry.ts';
import type { StoredVersions } from './registry/stored-versions.ts';
import { servedKinds } from './served-kinds.ts';
import type { Storage } from './storage/storage.ts';
import type { RingBounds } from './watch/event-ring.ts';
import { feedKind } from './watch/feed.ts';
import { KindCache } from './watch/kind-cache.ts';
import { KindCaches } from './watch/kind-caches.ts';

/** The registry of a server, over caches that are still empty. */
export interface ServerRegistry {
  readonly registry: Registry;
  /** To be fed. */
  readonly caches: KindCaches;
  readonly allocator: ServiceAllocator;
  /** Where the rules that users add are put. */
  readonly dynamic: DynamicAdmission;
  /** How webhooks are reached, once the server has its streams to the pods. */
  readonly webhookTargets: WebhookTargets;
  /** The rules in CEL, which are to follow the caches; undefined for a server with few kinds. */
  readonly policies: Policies | undefined;
  /**
   * Serves one more kind while the server runs; resolves when its objects are shown. Throws RangeError for one that is
   * there already. `versions`: how its objects are stored where they may be in several.
   */
  addKind(kind: Kind, versions?: StoredVersions): Promise<void>;
  /** Serves a kind no more; its watches are expired. Its objects stay in the store: the caller has removed them. */
  removeKind(kind: Kind): Promise<void>;
}

export type ServerRegistryOptions = Pick<
  ServerOptions,
  'log' | 'ring' | 'kinds' | 'lostNodeSeconds' | 'namespaceLimits' | 'systemPriorityNamespaces' | 'serviceRanges'
>;

/**
 * Of what each node writes every few seconds five minutes would take more memory than all else that stands of nodes.
 */
const heartbeatAgeMs = 60_000;
const boundsOf = ({ kind }: Kind): Partial<RingBounds> =>
  kind === 'Lease' || kind === 'NodeMetrics' ? { maxAgeMs: heartbeatAgeMs } : {};

/**
 * Makes the caches and stores of the kinds that the options name, and measures them; starts nothing. Throws RangeError
 * for ranges of services that are none.
 */
export function createServerRegistry(options: ServerRegistryOptions, storage: Storage, metrics: MetricsRegistry): ServerRegistry {
  const { log, ring = {} } = options;
  const cacheOf = (kind: Kind): KindCache => new KindCache(kind, { bounds: { ...boundsOf(kind), ...ring }, log });
  const caches = new KindCaches(servedKinds(options).map(cacheOf));
  const held = new NamespaceLedger(options.namespaceLimits);
  const quotas = new QuotaLedger(Date.now);
  const ledger = composeLedgers(held, quotas);
  const allocator = new ServiceAllocator(parseServiceRanges(options.serviceRanges), Math.random);
  const follow = (cache: KindCache): void => {
    held.observe(cache);
    quotas.observe(cache);
    allocator.observe(cache);
  };
  const terms = new LeaseTerms(findLease(caches));
  const dynamic = new DynamicAdmission();
  const environment = { storage, dynamic, now: () => new Date(), random: Math.random, uid: randomUUID, ledger, allocator, terms };
  const registry = createRegistry(caches, environment, options);
  const policies = registry.stores.has('ValidatingAdmissionPolicy') ? new Policies(registry, metrics) : undefined;
  if (policies) dynamic.add(policies);
  for (const cache of caches) follow(cache);
  measureCaches(metrics, caches);
  measureNamespaces(metrics, held);
  return {
    registry,
    caches,
    allocator,
    dynamic,
    webhookTargets: new WebhookTargets(),
    policies,
    async addKind(kind, versions) {
      const store = new KindStore(cacheOf(kind), environment);
      if (versions) store.versions.of = versions;
      registry.stores.check(store);
      await feedKind({ storage, caches }, store.cache);
      follow(store.cache);
      registry.stores.add(store);
      await ensureCollected(registry, kind);
    },
    async removeKind(kind) {
      const store = registry.stores.get(kindId(kind));
      if (!store) return;
      registry.stores.remove(store.id);
      caches.remove(store.cache);
      await forgetCollected(registry, kind);
    },
  };
}
