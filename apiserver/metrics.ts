import { resourceOf } from '../api/kinds/identity.ts';
import { fastSeconds, type MetricsRegistry, type MetricTable, type Reading } from '../api/metrics/index.ts';
import type { KindCache } from './watch/kind-cache.ts';
import type { KindCaches } from './watch/kind-caches.ts';

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
    help: 'Calls that were refused with RESOURCE_EXHAUSTED because of the limits per client, by the priority level (control, system, tenants) and the limit: inflight, streams, rate, answers (that were not taken) or anonymous (calls without credentials).',
    labels: ['priority_level', 'reason'],
  },
  clients: {
    name: 'berth_apiserver_clients',
    type: 'gauge',
    help: 'Clients with calls or streams under way, by priority level; the service accounts of a namespace are one.',
    labels: ['priority_level'],
  },
  connections: {
    name: 'berth_apiserver_connections',
    type: 'gauge',
    help: 'Connections that are open, by authentication: known, unknown.',
    labels: ['state'],
  },
  unknownStreams: {
    name: 'berth_apiserver_unauthenticated_streams',
    type: 'gauge',
    help: 'HTTP/2 streams that are open on connections that have not authenticated.',
  },
  anonymousCalls: {
    name: 'berth_apiserver_anonymous_calls',
    type: 'gauge',
    help: 'Calls of the health service without credentials that are open.',
  },
  connectionsRefused: {
    name: 'berth_apiserver_connections_refused_total',
    type: 'counter',
    help: 'Connections and requests that were refused or ended before authentication, by reason (docs/security.md has the limits).',
    labels: ['reason'],
  },
  clientCertificates: {
    name: 'apiserver_client_certificate_expiration_seconds',
    type: 'histogram',
    help: 'How long client certificates were still valid when a client connected with them.',
    buckets: [
      0, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000,
    ],
  },
  certificateEnds: {
    name: 'berth_certificate_expiration_timestamp_seconds',
    type: 'gauge',
    help: "When the server's own certificates end, in seconds since 1970, by name: ca (of the authorities, the first that ends), server, admin, scheduler, controllers.",
    labels: ['name'],
  },
  watchers: {
    name: 'apiserver_registered_watchers',
    type: 'gauge',
    help: 'Watches that are open, by resource.',
    labels: ['resource'],
  },
  watchersEnded: {
    name: 'apiserver_terminated_watchers_total',
    type: 'counter',
    help: 'Watches that were cut off because their clients did not read, by resource.',
    labels: ['resource'],
  },
  watchMessages: {
    name: 'berth_apiserver_watch_messages_total',
    type: 'counter',
    help: 'Messages sent to watchers, bookmarks included, by resource. One message holds one event or many.',
    labels: ['resource'],
  },
  watchBytes: {
    name: 'berth_apiserver_watch_sent_bytes_total',
    type: 'counter',
    help: 'Bytes sent to watchers, before TLS, by resource.',
    labels: ['resource'],
  },
  answerBytes: {
    name: 'berth_apiserver_answer_bytes',
    type: 'gauge',
    help: 'Answers of unary calls of 16 KiB and more that are on their way to their clients.',
    labels: ['priority_level'],
  },
  listBytes: {
    name: 'berth_apiserver_list_bytes',
    type: 'gauge',
    help: 'What the answers of lists hold in memory that are being made or on their way.',
    labels: ['priority_level'],
  },
  listsWaiting: {
    name: 'berth_apiserver_lists_waiting',
    type: 'gauge',
    help: 'Lists that wait until there is room for their answers.',
    labels: ['priority_level'],
  },
  listsRefused: {
    name: 'berth_apiserver_lists_refused_total',
    type: 'counter',
    help: 'Lists that were refused because too many waited, or for too long.',
    labels: ['priority_level'],
  },
  commits: {
    name: 'berth_storage_commit_duration_seconds',
    type: 'histogram',
    help: 'How long one commit took until it was on the disk: the sync of the data and of the page that makes it count. All writes that wait share one.',
    buckets: fastSeconds,
  },
  commitsFailed: {
    name: 'berth_storage_commit_failures_total',
    type: 'counter',
    help: 'Commits that the disk or the system refused.',
  },
  storedBytes: {
    name: 'apiserver_storage_size_bytes',
    type: 'gauge',
    help: 'Size of the file of the store; what was freed in it is used again.',
  },
  usedBytes: {
    name: 'berth_storage_used_bytes',
    type: 'gauge',
    help: 'Bytes in the store, by what they are: live (the newest state of each object), history, relaxed (heartbeats, events, figures).',
    labels: ['part'],
  },
  freeBytes: {
    name: 'berth_storage_disk_free_bytes',
    type: 'gauge',
    help: 'Free space of the disk that the store is on.',
  },
  compacted: {
    name: 'berth_storage_compacted_revision',
    type: 'gauge',
    help: 'History before this revision has been forgotten.',
  },
  compactionsFailed: {
    name: 'berth_storage_compaction_failures_total',
    type: 'counter',
    help: 'Compactions that failed; they are tried again every minute.',
  },
  namespaceBytes: {
    name: 'berth_apiserver_namespace_bytes',
    type: 'gauge',
    help: 'What the objects of a namespace count as against --namespace-bytes, by namespace: the 50 that hold most, and "(others)", which no namespace is called.',
    labels: ['namespace'],
  },
  namespaceObjects: {
    name: 'berth_apiserver_namespace_objects',
    type: 'gauge',
    help: 'How many objects there are in a namespace, of all kinds, for the same namespaces.',
    labels: ['namespace'],
  },
  namespaceRefusals: {
    name: 'berth_apiserver_namespace_writes_refused_total',
    type: 'counter',
    help: 'Writes that were refused because their namespace is full, by limit: bytes, objects.',
    labels: ['limit'],
  },
  events: {
    name: 'apiserver_watch_cache_events_received_total',
    type: 'counter',
    help: 'Changes that the watch cache has taken in since the server started, by resource.',
    labels: ['resource'],
  },
  policyChecks: {
    name: 'apiserver_validating_admission_policy_check_total',
    type: 'counter',
    help: 'Requests that a ValidatingAdmissionPolicy judged, by policy, binding, what went wrong (no_error, compile_error, evaluation_error, params_error) and what became of the request: allow, deny, warn or audit.',
    labels: ['policy', 'policy_binding', 'error_type', 'enforcement_action'],
  },
  policyDurations: {
    name: 'apiserver_validating_admission_policy_check_duration_seconds',
    type: 'histogram',
    help: 'How long a ValidatingAdmissionPolicy took to judge a request, by policy.',
    labels: ['policy'],
    buckets: fastSeconds,
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

/** What the watch caches know of themselves; costs nothing until the page is read. */
export function measureCaches(metrics: MetricsRegistry, caches: KindCaches): void {
  const each = (value: (cache: KindCache) => number) => (): Reading[] =>
    Array.from(caches, (cache) => ({ labels: [resourceOf(cache.kind)], value: value(cache) }));
  metrics.read(
    apiserverMetrics.watchers,
    each((cache) => cache.batcher.size),
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
  metrics.read(apiserverMetrics.revision, () => Math.max(0, ...Array.from(caches, (cache) => cache.revision)));
}
