import type { NodeTable } from '../cache/node-table.ts';
import { record, type ValueOf, whole } from '../config/shape.ts';
import { wordAmounts } from '../framework/amounts.ts';
import { definePlugin, maxScore, type Plugin, proceed, unschedulable } from '../framework/plugin.ts';
import { freeShare } from './node-resources-fit.ts';

export const nodeUsageArguments = record({
  /**
   * A reading older than this says nothing: the node counts by requests alone. Default 150,000: agents report at least every 60 s, so two reports
   * in a row and half of the third were missed.
   */
  staleAfterMs: whole(1_000, 86_400_000),
});
export type NodeUsageArguments = ValueOf<typeof nodeUsageArguments>;

interface State {
  /** Readings from before this instant are stale. */
  readonly freshSince: number;
  readonly cpu: number;
  readonly memory: number;
  /** What the pod asks for itself; 0 when it asks for nothing. */
  readonly requestedMemory: number;
  /** Columns at hand: looked up for each node they cost more than the comparison. */
  readonly columns: Pick<NodeTable['columns'], 'usageAt' | 'capacityMemory' | 'usageMemory' | 'memorySinceReading'>;
}

/** Readings grow stale in steps of a second, so that the pods of a second are of one shape. */
const freshnessStepMs = 1_000;

const memoryInUse = unschedulable('node(s) had too little memory available', [
  'node/added',
  'node/resources',
  'node/usage',
  'pod/removed',
]);

/**
 * Looks at what the nodes use, as NodeResourcesFit looks at what their pods asked for: a node's use is its last reading plus the requests of pods that
 * the reading does not show in full yet, so a burst does not pile onto one stale reading. What the system takes beside pods (capacity - allocatable)
 * is not held against pods. A node whose reading is stale or missing counts by requests. (The larger of reading and requests would be the requests
 * nearly everywhere, since people ask for more than they use, and balances much less: `npm run bench -- study` measures it.)
 *
 * It prefers nodes with the largest free share. It keeps a pod off a node only when a fresh reading says that the memory available on the
 * machine, less what pods placed after that reading asked for, is less than the pod's own request: memory cannot be taken back from others as
 * CPU can. Readings are total - available, so page cache never counts as used. A pod that requests no memory is never kept off.
 */
export function nodeUsage({ staleAfterMs = 150_000 }: NodeUsageArguments = {}): Plugin<State> {
  return definePlugin<State>({
    name: 'NodeUsage',
    prepare({ pod, now, nodes }) {
      const requestedMemory = pod.requests.memory;
      const { usageAt, capacityMemory, usageMemory, memorySinceReading } = nodes.columns;
      const columns = { usageAt, capacityMemory, usageMemory, memorySinceReading };
      const { scoringCpuMilli: cpu, scoringMemory: memory } = pod;
      const freshSince = Math.floor((now - staleAfterMs) / freshnessStepMs) * freshnessStepMs;
      const shape = `${cpu} ${memory} ${requestedMemory} ${freshSince}`;
      return proceed({ freshSince, cpu, memory, requestedMemory, columns }, { filter: requestedMemory > 0, shape });
    },
    filter: (state, _, row) => (hasTooLittle(state, row) ? memoryInUse : undefined),
    filterRows(state, _, rows) {
      let kept = 0;
      for (let i = 0; i < rows.length; i++) if (!hasTooLittle(state, rows[i]!)) rows[kept++] = rows[i]!;
      return kept;
    },
    explain(state, _, row) {
      const [needed, there] = wordAmounts('memory', state.requestedMemory, Math.max(0, availableMemory(state, row)));
      return `needs ${needed} memory, ${there} available on the machine`;
    },
    helps: (_, event) => event.kind !== 'node/resources' || event.node.status?.usage !== undefined,
    score({ freshSince, cpu, memory }, { columns }, rows, scores) {
      const { allocatableCpu, allocatableMemory, capacityCpu, capacityMemory, scoringCpu, scoringMemory } = columns;
      const { usageAt, usageCpu, usageMemory, unsettledCpu, unsettledMemory } = columns;
      for (let i = 0; i < rows.length; i++) {
        const row = rows[i]!;
        const cpuLimit = allocatableCpu[row]!;
        const memoryLimit = allocatableMemory[row]!;
        let usedCpu = scoringCpu[row]!;
        let usedMemory = scoringMemory[row]!;
        if (usageAt[row]! >= freshSince) {
          // The system's own share is capacity - allocatable: what it uses of that is not taken from pods.
          usedCpu = Math.max(0, usageCpu[row]! - (capacityCpu[row]! - cpuLimit)) + unsettledCpu[row]!;
          usedMemory = Math.max(0, usageMemory[row]! - (capacityMemory[row]! - memoryLimit)) + unsettledMemory[row]!;
        }
        scores[i] = ((freeShare(cpuLimit, usedCpu + cpu) + freeShare(memoryLimit, usedMemory + memory)) / 2) * maxScore;
      }
    },
  });
}

function hasTooLittle(state: State, row: number): boolean {
  return state.columns.usageAt[row]! >= state.freshSince && availableMemory(state, row) < state.requestedMemory;
}

function availableMemory({ columns }: State, row: number): number {
  return columns.capacityMemory[row]! - columns.usageMemory[row]! - columns.memorySinceReading[row]!;
}
