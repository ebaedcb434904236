import { once, setMaxListeners } from 'node:events';
import { MetricsRegistry } from '../api/metrics/index.ts';
import { anyOf, BootstrapTokens } from './authn/bootstrap-tokens.ts';
import { certifiedHosts, keepControlPlaneServices } from './control-plane.ts';
import { openListeners } from './listeners.ts';
import { runLoops, startGroups } from './loops.ts';
import type { ServerOptions } from './options.ts';
import { ensurePki, type ServerPki } from './pki/pki.ts';
import { tightenFiles } from './pki/private-files.ts';
import { runAggregation } from './registry/keepers/aggregated-roles.ts';
import { NodeSums } from './registry/node-sums.ts';
import { createApiServer } from './rpc/api-server.ts';
import { createServerRegistry, type ServerRegistry } from './server-registry.ts';
import { keepStandingObjects } from './standing-objects.ts';
import { measureStorage } from './storage-metrics.ts';
import { type OpenedStore, openStore, rewriteSecrets } from './store-files.ts';
import { startFeed } from './watch/feed.ts';

export { advertiseNotice, advertiseProblem } from './advertise.ts';
export { defaultNodePortRange, parseServiceRanges } from './allocation/ranges.ts';
export { auditPath, openAudit } from './audit/open-audit.ts';
export { controlPlane } from './authn/identity.ts';
export { issueNodeCredentials, type NodeCredentials } from './node-credentials.ts';
export type { ClientLimits, ServerInfo, ServerOptions } from './options.ts';
export { compactFiles, restoreFiles } from './store-files.ts';

/** What running calls get when the server stops; streams end at once. */
const DRAIN_MS = 5_000;

/**
 * Runs the API server until the signal aborts: opens the store, fills the watch caches, listens, serves; then drains
 * and closes the store. Rejects when it cannot start or the store fails for good.
 */
export async function runServer(options: ServerOptions, signal: AbortSignal): Promise<void> {
  const pki = await ensurePki(options.dataDir, certifiedHosts(options), () => new Date());
  await tightenFiles(options.dataDir);
  const store = await openStore(options);
  try {
    await serve(options, store, pki, signal);
  } finally {
    await store.storage.close();
  }
}

async function serve(options: ServerOptions, store: OpenedStore, pki: ServerPki, signal: AbortSignal): Promise<void> {
  const { storage } = store;
  const { log, metrics = new MetricsRegistry() } = options;
  const served = createServerRegistry(options, storage, metrics);
  const { registry, caches, allocator, policies, webhookTargets } = served;
  const sums = new NodeSums(registry.store('Pod').cache);
  const tokens = new BootstrapTokens(registry.store('Secret').cache, () => new Date());
  const endStorage = measureStorage(metrics, storage);
  // The loops below the API outlive the signal, so that calls that are still running find them.
  const inner = new AbortController();
  setMaxListeners(0, inner.signal);
  const loops: Promise<void>[] = [];
  try {
    const feed = await startFeed({ storage, caches, log }, inner.signal);
    for (const each of [sums, tokens, policies]) each?.observe();
    loops.push(feed.ended, ...runLoops({ ...options, metrics }, { registry, pki }, inner.signal));
    loops.push(...(await keepStandingObjects({ registry, allocator }, options, inner.signal)));
    const groups = await startGroups({ ...served, targetOf: webhookTargets.of, metrics }, options, inner.signal);
    loops.push(...groups.ended, runAggregation(registry, log, inner.signal), rewriteSecrets(store, log, inner.signal));
    await listenUntil({
      options: { ...options, metrics },
      store,
      ...{ served, sums },
      pki: { ...pki, tokens: anyOf([pki.tokens, tokens]) },
      signal: AbortSignal.any([signal, feed.failed]),
    });
    feed.failed.throwIfAborted();
  } finally {
    endStorage();
    inner.abort();
    await Promise.allSettled(loops);
  }
}

interface ListenInput {
  readonly options: ServerOptions & { readonly metrics: MetricsRegistry };
  readonly store: OpenedStore;
  readonly served: ServerRegistry;
  readonly sums: NodeSums;
  readonly pki: ServerPki;
  readonly signal: AbortSignal;
}

async function listenUntil({ options, store, served, sums, pki, signal }: ListenInput): Promise<void> {
  const { registry, dynamic, webhookTargets, addKind } = served;
  const { log, watchLimits = {}, listLimits = {}, itemStreamLimits = {}, metrics, limits = {} } = options;
  const stopping = new AbortController();
  // Every open stream listens to it.
  setMaxListeners(0, stopping.signal);
  const api = createApiServer({
    ...{ registry, dynamic, webhookTargets },
    sums,
    ...{ tokens: pki.tokens, tokenKeys: pki.tokenKeys, certificates: pki.certificates, frontProxy: pki.frontProxy },
    log,
    ...{ now: () => new Date(), random: Math.random },
    stopping: stopping.signal,
    metrics,
    logLevel: options.logLevel,
    backup: store.storage.backup,
    secretKeys: store.secretKeys,
    keepalive: options.keepalive,
    ...{ watchLimits, limits, listLimits, itemStreamLimits, audit: options.audit, arrivalLimits: options.arrivalLimits },
    ...{ answerLimits: options.answerLimits, anonymousLimits: options.anonymousLimits },
  });
  const listeners = await openListeners({ ...options, api, pki }, stopping.signal);
  const doors = { ...listeners, registry, certificates: pki.certificates, aggregation: api.aggregation };
  const services = await keepControlPlaneServices(doors, options, stopping.signal);
  api.setServing(true);
  options.ready?.({ ...listeners, ca: pki.certificates.trusted(), addKind, channel: (caller) => api.local.channel(caller) });
  if (!signal.aborted) await once(signal, 'abort');
  log.info('the API server is stopping');
  api.setServing(false);
  stopping.abort();
  const { drainMs = DRAIN_MS } = options;
  await Promise.all([services.ended, listeners.drain(drainMs), api.local.drain(drainMs)]);
}
