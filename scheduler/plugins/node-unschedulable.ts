import { tolerates } from '../../api/kinds/node/tolerations.ts';
import { taints } from '../../api/meta/well-known.ts';
import { definePlugin, proceed, skip, unresolvable } from '../framework/plugin.ts';

const cordoned = unresolvable('node(s) were unschedulable', ['node/added', 'node/taints']);
const mark = { key: taints.unschedulable, effect: 'NoSchedule' };

/** Keeps pods off nodes with `spec.unschedulable`, unless they tolerate the taint that stands for it. */
export const nodeUnschedulable = definePlugin({
  name: 'NodeUnschedulable',
  prepare({ pod, nodes }) {
    if (nodes.sums.unschedulable === 0 || tolerates(pod.pod.spec?.tolerations ?? [], mark)) return skip;
    return proceed(undefined, { score: false, shape: '' });
  },
  filter: (_, nodes, row) => (nodes.columns.unschedulable[row] === 0 ? undefined : cordoned),
  explain: () => 'the node is marked unschedulable (spec.unschedulable)',
  helps: (_, event) => 'node' in event && event.node.spec?.unschedulable !== true,
});
