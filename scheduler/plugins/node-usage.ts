import type { NodeTable } from '../cache/node-table.ts';
import { record, type ValueOf, whole } from '../config/shape.ts';
import { wordAmounts } from '../framework/amounts.ts';
import { definePlugin, maxScore, type Plugin, proceed, type Rejection, unschedulable } from '../framework/plugin.ts';
import { freeShare } from './node-resources-fit.ts';

export const nodeUsageArguments = record({
  /**
   * A reading older than this says nothing: the node counts by requests alone. Default 150,000: agents report at least
   * every 60 s, so two reports in a row and half of the third were missed.
   */
  staleAfterMs: whole(1_000, 86_400_000),
  /**
   * A pod that has waited so long is no longer kept off by a reading: requests decide. Default 120,000:
   * two reports of an agent.
   */
  patienceMs: whole(0, 86_400_000),
  /**
   * What a machine may lack of the memory that a pod requests, in percent of its capacity, before the pod is kept off:
   * some of what counts as used can be reclaimed (the ARC of ZFS, shared memory that may be swapped). Scores count it
   * in full. Default 10.
   */
  marginPercent: whole(0, 100),
});
export type NodeUsageArguments = ValueOf<typeof nodeUsageArguments>;

interface State {
  /** Readings from before this instant are stale. */
  readonly freshSince: number;
  readonly cpu: number;
  readonly memory: number;
  /** What the pod asks for itself; 0 when it asks for nothing. */
  readonly requestedMemory: number;
  /** What may be missing of it, as a share of the node's capacity. */
  readonly margin: number;
  readonly memoryInUse: Rejection;
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
 * Looks at what the nodes use, as NodeResourcesFit looks at what their pods asked for: a node's use is its last reading
 * plus the requests of pods that the reading does not show in full yet, so a burst does not pile onto one stale
 * reading. What the system takes beside pods (capacity - allocatable) is not held against pods. A node whose reading is
 * stale or missing counts by requests. (The larger of reading and requests would be the requests nearly everywhere,
 * since people ask for more than they use, and balances much less: `npm run bench -- study` measures it.)
 *
 * It prefers nodes with the largest free share. It keeps a pod off a node only when a fresh reading says that the
 * memory available on the machine, less what pods placed after that reading asked for, is less than the pod's own
 * request by more than a margin: memory cannot be taken back from others as CPU can. Readings are total - available, so
 * page cache never counts as used. A pod that requests no memory is never kept off, and none that has waited for
 * `patienceMs`: what fits by requests does not starve on readings.
 */
export function nodeUsage({
  staleAfterMs = 150_000,
  patienceMs = 120_000,
  marginPercent = 10,
}: NodeUsageArguments = {}): Plugin<State> {
  const rejection: Rejection = { ...memoryInUse, atMostMs: patienceMs };
  const margin = marginPercent / 100;
  return definePlugin<State>({
    name: 'NodeUsage',
    prepare({ pod, now, nodes, waitingSince = now }) {
      const requestedMemory = pod.requests.memory;
      const { usageAt, capacityMemory, usageMemory, memorySinceReading } = nodes.columns;
      const columns = { usageAt, capacityMemory, usageMemory, memorySinceReading };
      const { scoringCpuMilli: cpu, scoringMemory: memory } = pod;
      const freshSince = Math.floor((now - staleAfterMs) / freshnessStepMs) * freshnessStepMs;
      const shape = `${cpu} ${memory} ${requestedMemory} ${freshSince}`;
      const state = { freshSince, cpu, memory, requestedMemory, margin, memoryInUse: rejection, columns };
      return proceed(state, { filter: requestedMemory > 0 && now - waitingSince < patienceMs, shape });
    },
    filter: (state, _, row) => (hasTooLittle(state, row) ? state.memoryInUse : undefined),
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
  const { columns, margin, freshSince, requestedMemory } = state;
  if (columns.usageAt[row]! < freshSince) return false;
  return availableMemory(state, row) + margin * columns.capacityMemory[row]! < requestedMemory;
}

function availableMemory({ columns }: State, row: number): number {
  return columns.capacityMemory[row]! - columns.usageMemory[row]! - columns.memorySinceReading[row]!;
}
