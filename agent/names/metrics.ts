import { fastSeconds, type Histogram, type MetricsRegistry, type MetricTable } from '../../api/metrics/index.ts';
import type { Meter } from './meter.ts';

/** What the resolver measures. */
export const namesMetrics = {
  answers: {
    name: 'berth_agent_names_answers_total',
    type: 'counter',
    help: 'Answers by the resolver: `kind` is cluster, search (the rest of a search path), upstream or invalid.',
    labels: ['kind', 'rcode'],
  },
  drops: {
    name: 'berth_agent_names_dropped_total',
    type: 'counter',
    help: 'Queries without an answer: no query at all, over a bound of their source, or an answer that could not be sent.',
    labels: ['reason'],
  },
  cache: {
    name: 'berth_agent_names_cache_total',
    type: 'counter',
    help: 'What the cache of upstream answers knew: hit, miss, or stale (its time is over and no server answers).',
    labels: ['result'],
  },
  upstream: {
    name: 'berth_agent_names_upstream_total',
    type: 'counter',
    help: 'Messages of upstream servers, failures, and messages that answer no query (foreign).',
    labels: ['result'],
  },
  upstreamSeconds: {
    name: 'berth_agent_names_upstream_duration_seconds',
    type: 'histogram',
    help: 'How long exchanges with upstream servers took that were answered.',
    buckets: fastSeconds,
  },
} as const satisfies MetricTable;

/** Shows what the resolver's thread counts, until the returned function is called. */
export function registerNames(metrics: MetricsRegistry, meter: Meter): { upstreamSeconds: Histogram; leave: () => void } {
  const leave = [
    metrics.read(namesMetrics.answers, () =>
      meter.answers().flatMap(({ kind, rcode, value }) => (value > 0 ? [{ labels: [kind, rcode], value }] : [])),
    ),
    metrics.read(namesMetrics.drops, meter.drops),
    metrics.read(namesMetrics.cache, meter.cache),
    metrics.read(namesMetrics.upstream, meter.exchanges),
  ];
  return {
    upstreamSeconds: metrics.histogram(namesMetrics.upstreamSeconds).with(),
    leave: () => {
      for (const each of leave) each();
    },
  };
}
