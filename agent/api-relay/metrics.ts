import type { MetricTable } from '../../api/metrics/index.ts';

/** What the relay to the API server measures. */
export const relayMetrics = {
  open: {
    name: 'berth_agent_api_relay_connections',
    type: 'gauge',
    help: 'Connections of pods to the API server that the agent passes on.',
  },
  refused: {
    name: 'berth_agent_api_relay_refused_total',
    type: 'counter',
    help: 'Connections that were not passed on: from another machine (source), over a bound (source-limit, limit, rate), cut for a pod that has fewer (cut), or the server is not reached (server).',
    labels: ['reason'],
  },
} as const satisfies MetricTable;
