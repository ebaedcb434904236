import { fastSeconds, type MetricsRegistry, type MetricTable, type Reading } from '../api/metrics/index.ts';
import type { KindCache } from './watch/kind-cache.ts';

/** What the API server measures. docs/metrics.md is made from this. */
export const apiserverMetrics = {
  requests: {
    name: 'apiserver_request_total',
    type: 'counter',
    help: 'Calls that have ended, by service, method and gRPC code.',
    labels: ['service', 'method', 'code'],
  },
  durations: {
    name: 'apiserver_request_duration_seconds',
    type: 'histogram',
    help: 'How long unary calls took in this server, from their arrival to the answer. Without streams, which last as long as their clients want.',
    labels: ['service', 'method'],
    buckets: fastSeconds,
  },
  inFlight: {
    name: 'apiserver_current_inflight_requests',
    type: 'gauge',
    help: 'Unary calls that are being answered, by whether they change something.',
    labels: ['request_kind'],
  },
  longRunning: {
    name: 'apiserver_longrunning_requests',
    type: 'gauge',
    help: 'Streams that are open: watches, logs, commands, control streams of agents.',
    labels: ['service', 'method'],
  },
  items: {
    name: 'berth_apiserver_stream_items_total',
    type: 'counter',
    help: 'Items of streams of writes (Bulk, BindStream) that have their result, by service, method and gRPC code.',
    labels: ['service', 'method', 'code'],
  },
  rejected: {
    name: 'apiserver_flowcontrol_rejected_requests_total',
    type: 'counter',
    help: 'Calls that were refused with RESOURCE_EXHAUSTED because of the limits per client, by the limit: inflight, streams or rate.',
    labels: ['reason'],
  },
  clients: {
    name: 'berth_apiserver_clients',
    type: 'gauge',
    help: 'Users with calls or streams under way.',
  },
  watchers: {
    name: 'apiserver_registered_watchers',
    type: 'gauge',
    help: 'Watches that are open, by resource.',
    labels: ['resource'],
  },
  events: {
    name: 'apiserver_watch_cache_events_received_total',
    type: 'counter',
    help: 'Changes that the watch cache has taken in since the server started, by resource.',
    labels: ['resource'],
  },
  cached: {
    name: 'apiserver_storage_objects',
    type: 'gauge',
    help: 'Objects that there are, by resource; all of them are in the watch cache.',
    labels: ['resource'],
  },
  ring: {
    name: 'berth_apiserver_watch_cache_kept_events',
    type: 'gauge',
    help: 'Changes that are kept for watches that resume, by resource.',
    labels: ['resource'],
  },
  revision: {
    name: 'berth_apiserver_revision',
    type: 'gauge',
    help: 'The newest revision of the store that readers see.',
  },
} as const satisfies MetricTable;

/** What the watch caches know of themselves; costs nothing until somebody looks. */
export function measureCaches(metrics: MetricsRegistry, caches: readonly KindCache[]): void {
  const each = (value: (cache: KindCache) => number) => (): Reading[] =>
    caches.map((cache) => ({ labels: [cache.kind.plural], value: value(cache) }));
  metrics.read(
    apiserverMetrics.watchers,
    each((cache) => cache.wave.size),
  );
  metrics.read(
    apiserverMetrics.events,
    each((cache) => cache.ring.endSequence),
  );
  metrics.read(
    apiserverMetrics.cached,
    each((cache) => cache.size),
  );
  metrics.read(
    apiserverMetrics.ring,
    each((cache) => cache.ring.endSequence - cache.ring.firstSequence),
  );
  metrics.read(apiserverMetrics.revision, () => Math.max(0, ...caches.map((cache) => cache.revision)));
}
