import type { NodeTable } from '../cache/node-table.ts';
import { maxScore } from './plugin.ts';
import type { PodInfo } from './pod-info.ts';

/** How nodes that hold a pod are compared by what would be requested of them, as Kubernetes' configuration says it. */
export interface ScoringStrategy {
  /** Free nodes first, full nodes first, or as `requestedToCapacityRatio` says. Default LeastAllocated. */
  readonly type?: 'LeastAllocated' | 'MostAllocated' | 'RequestedToCapacityRatio';
  /** What is compared, and how much it weighs: 1 to 100, default 1. Default CPU and memory alike. */
  readonly resources?: readonly { readonly name: string; readonly weight?: number }[];
  readonly requestedToCapacityRatio?: { readonly shape: readonly ShapePoint[] };
}

/** What a node scores (0 to 10) of which so much is requested (0 to 100 %); in between it is a straight line. */
export interface ShapePoint {
  readonly utilization: number;
  readonly score: number;
}

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

/** Throws RangeError that names the argument. */
export function compileScoring(strategy: ScoringStrategy = {}): ResourceScoring {
  const { type = 'LeastAllocated', resources = [{ name: 'cpu' }, { name: 'memory' }] } = strategy;
  const names = resources.map(({ name }) => name);
  if (new Set(names).size < names.length) throw refusal('resources', 'names one resource twice');
  for (const { name, weight = 1 } of resources)
    if (!(weight >= 1 && weight <= 100))
      throw refusal('resources', `gives "${name}" the weight ${weight}, which is not from 1 to 100`);
  const weighted = resources.map(({ name, weight = 1 }) => ({ name, weight }));
  if (type === 'LeastAllocated') return { resources: weighted, score: (share) => maxScore * (1 - share), skipsZero: false };
  if (type === 'MostAllocated') return { resources: weighted, score: (share) => maxScore * share, skipsZero: false };
  return { resources: weighted, score: shapeScore(strategy.requestedToCapacityRatio?.shape ?? []), skipsZero: true };
}

function refusal(argument: string, why: string): RangeError {
  return new RangeError(`NodeResourcesFit: scoringStrategy.${argument} ${why}`);
}

function shapeScore(shape: readonly ShapePoint[]): ShareScore {
  const at = 'requestedToCapacityRatio.shape';
  if (shape.length === 0) throw refusal(at, 'has no points');
  for (const [i, { utilization, score }] of shape.entries()) {
    if (!(utilization >= 0 && utilization <= 100))
      throw refusal(at, `has a utilization of ${utilization}, which is not from 0 to 100`);
    if (!(score >= 0 && score <= 10)) throw refusal(at, `has a score of ${score}, which is not from 0 to 10`);
    if (i > 0 && utilization <= shape[i - 1]!.utilization) throw refusal(at, 'is not ordered by utilization');
  }
  const points = shape.map(({ utilization, score }) => ({ share: utilization / 100, score: (maxScore * score) / 10 }));
  return (share) => {
    const next = points.findIndex((point) => point.share >= share);
    if (next < 0) return points.at(-1)!.score;
    const [before, after] = [points[next - 1], points[next]!];
    if (!before) return after.score;
    return before.score + ((after.score - before.score) * (share - before.share)) / (after.share - before.share);
  };
}

/** The resources that the strategy compares, as far as the pod minds them: who asks for no device does not care who has one. */
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
