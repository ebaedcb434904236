import type { NodeTable } from '../cache/node-table.ts';
import { list, record, refine, required, text, type ValueOf, whole, word } from '../config/shape.ts';
import { maxScore } from './plugin.ts';
import type { PodInfo } from './pod-info.ts';

/** What a node scores (0 to 10) of which so much is requested (0 to 100 %); in between it is a straight line. */
const point = record({ utilization: required(whole(0, 100)), score: required(whole(0, 10)) });

const points = refine(list(point), (given) => {
  if (given.length === 0) return 'must have at least one point';
  const isOrdered = given.every(({ utilization }, i) => i === 0 || utilization > given[i - 1]!.utilization);
  return isOrdered ? undefined : 'must be ordered by utilization, each greater than the one before';
});

/** What is compared, and how much it weighs: 1 to 100, default 1. */
const resource = record({ name: required(text()), weight: whole(1, 100) });

const resources = refine(list(resource), (given) => {
  const names = given.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (names.length === 0) return 'must name at least one resource; leave it out for CPU and memory';
  return twice === undefined ? undefined : `names "${twice}" twice`;
});

/** How nodes that hold a pod are compared by what would be requested of them, as Kubernetes' configuration says it. */
export const scoringStrategy = refine(
  record({
    /** Free nodes first, full nodes first, or as `requestedToCapacityRatio` says. Default LeastAllocated. */
    type: word('LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio'),
    /** Default CPU and memory alike. */
    resources,
    requestedToCapacityRatio: record({ shape: required(points) }),
  }),
  ({ type = 'LeastAllocated', requestedToCapacityRatio }) => {
    if ((type === 'RequestedToCapacityRatio') === (requestedToCapacityRatio !== undefined)) return undefined;
    return requestedToCapacityRatio === undefined
      ? 'with type RequestedToCapacityRatio needs requestedToCapacityRatio.shape'
      : `with type ${type} takes no requestedToCapacityRatio`;
  },
);

export type ScoringStrategy = ValueOf<typeof scoringStrategy>;
type ShapePoint = ValueOf<typeof point>;

/** 0 to 100 for the part of a resource that would be requested, 0 to 1. */
type ShareScore = (share: number) => number;

export interface ResourceScoring {
  readonly resources: readonly { readonly name: string; readonly weight: number }[];
  readonly score: ShareScore;
  /** A resource that scores 0 is left out of the mean: Kubernetes does so where the ratio says what is good. */
  readonly skipsZero: boolean;
}

/** One resource of the pod to be placed, beside the table's columns of it. */
export interface ScoredResource {
  readonly amount: number;
  readonly weight: number;
  readonly allocatable: Float64Array;
  readonly used: Float64Array;
}

export function compileScoring(strategy: ScoringStrategy = {}): ResourceScoring {
  const { type = 'LeastAllocated', resources = [{ name: 'cpu' }, { name: 'memory' }] } = strategy;
  const weighted = resources.map(({ name, weight = 1 }) => ({ name, weight }));
  if (type === 'LeastAllocated') return { resources: weighted, score: (share) => maxScore * (1 - share), skipsZero: false };
  if (type === 'MostAllocated') return { resources: weighted, score: (share) => maxScore * share, skipsZero: false };
  return { resources: weighted, score: shapeScore(strategy.requestedToCapacityRatio?.shape ?? []), skipsZero: true };
}

function shapeScore(shape: readonly ShapePoint[]): ShareScore {
  const points = shape.map(({ utilization, score }) => ({ share: utilization / 100, score: (maxScore * score) / 10 }));
  return (share) => {
    const next = points.findIndex((point) => point.share >= share);
    if (next < 0) return points.at(-1)!.score;
    const [before, after] = [points[next - 1], points[next]!];
    if (!before) return after.score;
    return before.score + ((after.score - before.score) * (share - before.share)) / (after.share - before.share);
  };
}

/**
 * The resources that the strategy compares, as far as the pod requests them:
 * devices count for pods that request devices.
 */
export function scoredResources({ resources }: ResourceScoring, pod: PodInfo, nodes: NodeTable): ScoredResource[] {
  const { columns } = nodes;
  return resources.flatMap(({ name, weight }): ScoredResource[] => {
    if (name === 'cpu')
      return [{ weight, amount: pod.scoringCpuMilli, allocatable: columns.allocatableCpu, used: columns.scoringCpu }];
    if (name === 'memory')
      return [{ weight, amount: pod.scoringMemory, allocatable: columns.allocatableMemory, used: columns.scoringMemory }];
    if (name === 'ephemeral-storage') {
      const { allocatableStorage: allocatable, requestedStorage: used } = columns;
      return [{ weight, amount: pod.requests.ephemeralStorage, allocatable, used }];
    }
    const amount = pod.requests.extended.get(name) ?? 0;
    const column = nodes.extended(name);
    return amount > 0 && column ? [{ weight, amount, allocatable: column.allocatable, used: column.requested }] : [];
  });
}

/** The weighted mean over the resources that the node has, for each row. */
export function scoreResources(
  { score, skipsZero }: ResourceScoring,
  resources: readonly ScoredResource[],
  rows: Int32Array,
  scores: Float64Array,
): void {
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    let total = 0;
    let weights = 0;
    for (const { amount, weight, allocatable, used } of resources) {
      const limit = allocatable[row]!;
      if (limit === 0) continue;
      const value = score(Math.min(1, (used[row]! + amount) / limit));
      if (skipsZero && value === 0) continue;
      total += weight * value;
      weights += weight;
    }
    scores[i] = weights === 0 ? 0 : total / weights;
  }
}
