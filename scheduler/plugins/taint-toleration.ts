import type { Taint, Toleration } from '../../api/generated/types.ts';
import { tolerates } from '../../api/kinds/node/tolerations.ts';
import { isHard } from '../cache/node-record.ts';
import { definePlugin, maxScore, proceed, type Rejection, skip, unresolvable } from '../framework/plugin.ts';

interface State {
  readonly tolerations: readonly Toleration[];
  /** Those that bear on PreferNoSchedule taints. */
  readonly soft: readonly Toleration[];
  /** One rejection for each distinct taint, so that equal ones are counted together. */
  readonly rejections: Map<string, Rejection>;
}

/**
 * Keeps pods off nodes with NoSchedule and NoExecute taints that they do not tolerate, and prefers nodes with fewer
 * PreferNoSchedule taints that they do not tolerate.
 */
export const taintToleration = definePlugin<State>({
  name: 'TaintToleration',
  prepare({ pod, nodes }) {
    const { hardTaints, softTaints } = nodes.sums;
    if (hardTaints === 0 && softTaints === 0) return skip;
    const tolerations = pod.pod.spec?.tolerations ?? [];
    const soft = tolerations.filter(({ effect }) => !effect || effect === 'PreferNoSchedule');
    const parts = { filter: hardTaints > 0, score: softTaints > 0, shape: JSON.stringify(tolerations) };
    return proceed({ tolerations, soft, rejections: new Map() }, parts);
  },
  filter(state, nodes, row) {
    if (nodes.columns.hardTaints[row] === 0) return undefined;
    const taint = firstUntolerated(nodes.nodes[row]?.spec?.taints, state.tolerations);
    return taint && rejectionFor(state, taint);
  },
  explain(state, nodes, row) {
    const taint = firstUntolerated(nodes.nodes[row]?.spec?.taints, state.tolerations);
    return `taint ${taint ? `${word(taint)}:${taint.effect}` : ''} is not tolerated`;
  },
  helps: (pod, event) => 'node' in event && !firstUntolerated(event.node.spec?.taints, pod.pod.spec?.tolerations ?? []),
  score(state, nodes, rows, scores) {
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!;
      scores[i] = nodes.columns.softTaints[row] === 0 ? 0 : countUntolerated(nodes.nodes[row]?.spec?.taints, state.soft);
    }
  },
  normalise(scores) {
    let most = 0;
    for (const score of scores) most = Math.max(most, score);
    for (let i = 0; i < scores.length; i++) scores[i] = most === 0 ? maxScore : maxScore * (1 - scores[i]! / most);
  },
});

function firstUntolerated(taints: readonly Taint[] | undefined, tolerations: readonly Toleration[]): Taint | undefined {
  return taints?.find((taint) => isHard(taint) && !tolerates(tolerations, taint));
}

function countUntolerated(taints: readonly Taint[] = [], soft: readonly Toleration[]): number {
  return taints.filter((taint) => taint.effect === 'PreferNoSchedule' && !tolerates(soft, taint)).length;
}

function rejectionFor({ rejections }: State, taint: Taint): Rejection {
  const text = word(taint);
  let rejection = rejections.get(text);
  if (!rejection) {
    rejection = unresolvable(`node(s) had untolerated taint ${text}`, ['node/added', 'node/taints']);
    rejections.set(text, rejection);
  }
  return rejection;
}

function word({ key, value }: Taint): string {
  return value ? `{${key}: ${value}}` : `{${key}}`;
}
