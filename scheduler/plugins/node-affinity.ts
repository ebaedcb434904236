import type { Pod } from '../../api/generated/types.ts';
import { compileTerm, type NodePredicate, requiredNodes } from '../../api/kinds/node/selector.ts';
import { explainPodMismatch } from '../framework/node-mismatch.ts';
import { definePlugin, maxScore, proceed, skip, unresolvable } from '../framework/plugin.ts';

interface State {
  readonly pod: Pod;
  readonly required: NodePredicate;
  readonly preferred: readonly { readonly weight: number; readonly matches: NodePredicate }[];
}

const mismatch = unresolvable("node(s) didn't match the pod's node affinity or selector", ['node/added', 'node/labels']);

/**
 * Keeps a pod to nodes that match its `nodeSelector` and required node affinity,
 * and prefers those that match its preferred terms.
 */
export const nodeAffinity = definePlugin<State>({
  name: 'NodeAffinity',
  prepare({ pod }) {
    const required = requiredNodes(pod.pod);
    const terms = pod.pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    if (!required && terms.length === 0) return skip;
    const preferred = terms.map(({ weight = 0, preference = {} }) => ({ weight, matches: compileTerm(preference) }));
    return proceed(
      { pod: pod.pod, required: required ?? (() => true), preferred },
      {
        filter: required !== undefined,
        score: preferred.length > 0,
        shape: JSON.stringify([pod.pod.spec?.nodeSelector, pod.pod.spec?.affinity?.nodeAffinity]),
      },
    );
  },
  filter: (state, nodes, row) => (state.required(nodes.nodes[row]!) ? undefined : mismatch),
  explain: ({ pod }, nodes, row) => explainPodMismatch(pod, nodes.nodes[row]!),
  helps: (pod, event) => 'node' in event && (requiredNodes(pod.pod)?.(event.node) ?? true),
  score({ preferred }, nodes, rows, scores) {
    for (let i = 0; i < rows.length; i++) {
      const node = nodes.nodes[rows[i]!]!;
      let sum = 0;
      for (const { weight, matches } of preferred) if (matches(node)) sum += weight;
      scores[i] = sum;
    }
  },
  normalise(scores) {
    let most = 0;
    for (const score of scores) most = Math.max(most, score);
    if (most > 0) for (let i = 0; i < scores.length; i++) scores[i] = (maxScore * scores[i]!) / most;
  },
});
