import type { MetricsRegistry, MetricTable } from '../../api/metrics/index.ts';
import type { PolicyFigures } from './node-policies.ts';

/** What is measured of network policies on a node. */
export const policyMetrics = {
  policies: {
    name: 'berth_agent_network_policies',
    type: 'gauge',
    help: 'Network policies of the cluster that the node knows.',
  },
  elements: {
    name: 'berth_agent_network_policy_elements',
    type: 'gauge',
    help: 'Elements of sets and maps in the table of network policies.',
  },
  builds: {
    name: 'berth_agent_network_policy_builds_total',
    type: 'counter',
    help: 'How often the table of network policies was built as a whole: at the start, and when it was lost.',
  },
  syncedAt: {
    name: 'berth_agent_network_policy_last_sync_timestamp_seconds',
    type: 'gauge',
    help: 'When the last change of the table of network policies was in force; 0 before the first.',
  },
  closedPods: {
    name: 'berth_agent_network_policy_closed_pods',
    type: 'gauge',
    help: 'Pods without connections, in a direction at least, because their policies have too many blocks, ports and peers.',
  },
  pieces: {
    name: 'berth_agent_network_policy_pieces',
    type: 'gauge',
    help: 'Rules, blocks, ports and peers of network policies on the node, of which there may be 200,000.',
  },
} as const satisfies MetricTable;

/** Shows the figures until the returned function is called. */
export function registerPolicies(metrics: MetricsRegistry, figures: () => PolicyFigures): () => void {
  const read = (name: keyof typeof policyMetrics, value: (figures: PolicyFigures) => number) =>
    metrics.read(policyMetrics[name], () => [{ labels: [], value: value(figures()) }]);
  const leave = [
    read('policies', ({ policies }) => policies),
    read('elements', ({ elements }) => elements),
    read('builds', ({ builds }) => builds),
    read('syncedAt', ({ syncedAt }) => syncedAt / 1_000),
    read('closedPods', ({ closedPods }) => closedPods),
    read('pieces', ({ pieces }) => pieces),
  ];
  return () => {
    for (const each of leave) each();
  };
}
