import { definePlugin, maxScore, proceed, skip } from '../framework/plugin.ts';

interface State {
  readonly cpu: number;
  readonly memory: number;
}

/**
 * Prefers nodes where CPU and memory would be requested to like shares once the pod is there, so that no node is left
 * with much of one resource that no pod can use for lack of the other. The score is 100 for equal shares and falls by
 * half a point for each point between them, down to 50. A pod that requests neither changes no node's balance.
 */
export const nodeResourcesBalanced = definePlugin<State>({
  name: 'NodeResourcesBalanced',
  prepare({ pod }) {
    const { cpuMilli, memory } = pod.requests;
    return cpuMilli === 0 && memory === 0 ? skip : proceed({ cpu: cpuMilli, memory }, { shape: `${cpuMilli} ${memory}` });
  },
  score({ cpu, memory }, { columns }, rows, scores) {
    const { allocatableCpu, allocatableMemory, requestedCpu, requestedMemory } = columns;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!;
      const cpuShare = share(requestedCpu[row]! + cpu, allocatableCpu[row]!);
      const memoryShare = share(requestedMemory[row]! + memory, allocatableMemory[row]!);
      // Half the difference is the standard deviation of two values, which is what Kubernetes scores.
      scores[i] = (1 - Math.abs(cpuShare - memoryShare) / 2) * maxScore;
    }
  },
});

/** The part of `allocatable` that is requested, 0 to 1. */
function share(requested: number, allocatable: number): number {
  return requested >= allocatable ? 1 : requested / allocatable;
}
