import { zoneOf } from './cluster.ts';
import { mostSkew, type Shape, shapes } from './shapes.ts';

export interface Pods {
  readonly count: number;
  readonly shape: Shape;
}

/** What is measured, and what is there before. */
export interface Workload {
  readonly nodes: number;
  readonly zones: number;
  /** Bound before the measurement begins, kind by kind. */
  readonly existing: readonly Pods[];
  /** Waiting, as no node is large enough, before the measurement begins. */
  readonly unschedulable?: number;
  /** Name and value of the one priority class, where pods have one. */
  readonly priorityClass?: { readonly name: string; readonly value: number };
  readonly measured: Pods;
  /** Pods in a second, as a share of those that the server creates and binds in the same run without a scheduler. */
  readonly leastShare: number;
  /**
   * How many of the measured pods, by their nodes, are where they must not be;
   * the nodes of existing pods of the same shape come first.
   */
  readonly misplaced?: (nodes: readonly string[]) => number;
}

const plain = (count: number): Pods => ({ count, shape: shapes.plain });
const large = { nodes: 5_000, zones: 1 };

/** Kubernetes' scheduler_perf, rebuilt from its description. */
export const workloads = {
  basic: { ...large, existing: [plain(1_000)], measured: plain(10_000), leastShare: 0.5 },
  'anti-affinity': {
    ...large,
    existing: [{ count: 1_000, shape: shapes.apart }],
    measured: { count: 1_000, shape: shapes.apart },
    leastShare: 0.33,
    misplaced: (nodes) => nodes.length - new Set(nodes).size,
  },
  affinity: {
    nodes: 5_000,
    zones: 3,
    existing: [{ count: 5_000, shape: shapes.together }],
    measured: { count: 1_000, shape: shapes.together },
    leastShare: 0.33,
    misplaced: (nodes) => nodes.length - Math.max(...countByZone(nodes)),
  },
  'node-affinity': {
    nodes: 5_000,
    zones: 3,
    existing: [{ count: 5_000, shape: shapes.inZones }],
    measured: { count: 1_000, shape: shapes.inZones },
    leastShare: 0.33,
    misplaced: (nodes) => countByZone(nodes)[2]!,
  },
  spreading: {
    nodes: 5_000,
    zones: 3,
    existing: [plain(5_000)],
    measured: { count: 2_000, shape: shapes.spread },
    leastShare: 0.33,
    misplaced: (nodes) => Math.max(0, Math.max(...countByZone(nodes)) - Math.min(...countByZone(nodes)) - mostSkew),
  },
  mixed: {
    nodes: 5_000,
    zones: 3,
    existing: [shapes.plain, shapes.apart, shapes.together, shapes.inZones, shapes.spread].map((shape) => ({
      count: 2_000,
      shape,
    })),
    measured: plain(1_000),
    leastShare: 0.27,
  },
  unschedulable: { ...large, existing: [], unschedulable: 200, measured: plain(5_000), leastShare: 0.4 },
  preemption: {
    nodes: 500,
    zones: 1,
    existing: [{ count: 2_000, shape: shapes.low }],
    priorityClass: { name: 'high', value: 10 },
    measured: { count: 500, shape: shapes.high },
    leastShare: 0.08,
    // Two of 3 CPU do not fit on one node.
    misplaced: (nodes) => nodes.length - new Set(nodes).size,
  },
  'basic-15000': { nodes: 15_000, zones: 1, existing: [], measured: plain(30_000), leastShare: 0.27 },
} as const satisfies Record<string, Workload>;

function countByZone(nodes: readonly string[]): number[] {
  const counts = [0, 0, 0];
  for (const node of nodes) counts[zoneOf(node, counts.length)]! += 1;
  return counts;
}
