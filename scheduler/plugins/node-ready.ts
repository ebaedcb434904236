import { taints } from '../../api/meta/well-known.ts';
import { isReady } from '../cache/node-record.ts';
import { definePlugin, proceed, skip, unresolvable } from '../framework/plugin.ts';
import { tolerates } from './tolerations.ts';

const notReady = unresolvable('node(s) were not ready', ['node/added', 'node/ready']);
const mark = { key: taints.notReady, effect: 'NoSchedule' };

/**
 * Keeps pods off nodes whose Ready condition is not True, unless they tolerate the taint that stands for it. Reading the condition itself
 * leaves no gap between a node's failure and the taint.
 */
export const nodeReady = definePlugin({
  name: 'NodeReady',
  prepare({ pod, nodes }) {
    if (nodes.sums.ready === nodes.count || tolerates(pod.pod.spec?.tolerations ?? [], mark)) return skip;
    return proceed(undefined, { score: false });
  },
  filter: (_, nodes, row) => (nodes.columns.ready[row] === 1 ? undefined : notReady),
  explain(_, nodes, row) {
    const condition = nodes.nodes[row]?.status?.conditions?.find(({ type }) => type === 'Ready');
    return condition
      ? `condition Ready is ${condition.status}: ${condition.message || condition.reason}`
      : 'the node has no condition Ready';
  },
  helps: (_, event) => 'node' in event && isReady(event.node),
});
