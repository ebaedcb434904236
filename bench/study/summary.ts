import { type Sample, stepMs } from './simulate.ts';

/** A day of all nodes in a few numbers. */
export interface Summary {
  /** Standard deviation of the nodes' CPU use, in points of percent, averaged over the day. */
  readonly deviation: number;
  /** Of all node-minutes, how many percent had more than 90 % of the CPU wanted. */
  readonly overloaded: number;
  /** Of all pod-minutes, how many percent got less CPU than they would have used. */
  readonly throttled: number;
  /** Core-hours that pods did not get although other nodes had them to spare. */
  readonly missing: number;
  /** The same as the first two, for memory. */
  readonly memoryDeviation: number;
  readonly memoryOverloaded: number;
  /** Mean use of all nodes, in percent: the same in both runs, but for what was waiting. */
  readonly use: number;
  /** Pod-minutes of waiting for a node. */
  readonly waiting: number;
}

const overload = 0.9;
const percent = 100;

export function summarise(samples: readonly Sample[]): Summary {
  const mean = (of: (sample: Sample) => number) => samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const total = (of: (sample: Sample) => number) => mean(of) * samples.length;
  const hours = stepMs / 3_600_000;
  return {
    deviation: percent * mean(({ demand }) => deviationOf(demand.map(use))),
    overloaded: percent * mean(({ demand }) => shareAbove(demand, overload)),
    throttled: (percent * total(({ throttled }) => throttled)) / total(({ pods }) => pods),
    missing: total(({ missingMilli }) => missingMilli / 1000) * hours,
    memoryDeviation: percent * mean(({ memory }) => deviationOf(memory)),
    memoryOverloaded: percent * mean(({ memory }) => shareAbove(memory, overload)),
    use: percent * mean(({ demand }) => meanOf(demand.map(use))),
    waiting: total(({ waiting }) => waiting) * hours * 60,
  };
}

/** A machine cannot use more than it has. */
const use = (demand: number): number => Math.min(1, demand);

export function meanOf(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function deviationOf(values: Float64Array): number {
  const mean = meanOf(values);
  return Math.sqrt(meanOf(values.map((value) => (value - mean) ** 2)));
}

export function shareAbove(values: Float64Array, limit: number): number {
  return meanOf(values.map((value) => (value > limit ? 1 : 0)));
}
