import { tolerates } from '../../api/kinds/node/tolerations.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { taintEffects, taints } from '../../api/meta/well-known.ts';
import { isReady } from '../cache/node-record.ts';
import { definePlugin, proceed, skip, unresolvable } from '../framework/plugin.ts';

const notReady = unresolvable('node(s) were not ready', ['node/added', 'node/ready']);
const unreachable = unresolvable('node(s) were unreachable', ['node/added', 'node/ready']);
const effect = taintEffects.noSchedule;

interface State {
  /** Whether the pod tolerates nodes that say that they are not ready, and nodes that say nothing any more. */
  readonly notReady: boolean;
  readonly unreachable: boolean;
}

/**
 * Keeps pods off nodes whose Ready condition is not True, unless they tolerate the taint that stands for it:
 * unreachable when it is Unknown, else not-ready. Reading the condition itself leaves no gap between a node's failure
 * and the taint, and gives the plainer reason.
 */
export const nodeReady = definePlugin<State>({
  name: 'NodeReady',
  prepare({ pod, nodes }) {
    if (nodes.sums.ready === nodes.count) return skip;
    const tolerations = pod.pod.spec?.tolerations ?? [];
    const state = {
      notReady: tolerates(tolerations, { key: taints.notReady, effect }),
      unreachable: tolerates(tolerations, { key: taints.unreachable, effect }),
    };
    return state.notReady && state.unreachable
      ? skip
      : proceed(state, { score: false, shape: `${state.notReady} ${state.unreachable}` });
  },
  filter(state, nodes, row) {
    if (nodes.columns.ready[row] === 1) return undefined;
    if (findCondition(nodes.nodes[row]?.status?.conditions, 'Ready')?.status === 'Unknown')
      return state.unreachable ? undefined : unreachable;
    return state.notReady ? undefined : notReady;
  },
  explain(_, nodes, row) {
    const condition = findCondition(nodes.nodes[row]?.status?.conditions, 'Ready');
    return condition
      ? `condition Ready is ${condition.status}: ${condition.message || condition.reason}`
      : 'the node has no condition Ready';
  },
  helps: (_, event) => 'node' in event && isReady(event.node),
});
