import { writeFileSync } from 'node:fs';
import { atMost, type Figure, note } from '../figure.ts';
import { runParts } from '../parts.ts';
import { plotStudy } from './plot.ts';
import { machineMilli, type Runs, type Sample, simulate } from './simulate.ts';
import { type Summary, summarise } from './summary.ts';
import { createTrace } from './trace.ts';

export interface Study {
  readonly seed: number;
  readonly nodes: number;
  readonly lengthMs: number;
}

const day: Study = { seed: 20260105, nodes: 100, lengthMs: 24 * 3_600_000 };
/** So much of the CPU is asked for: enough that placing matters, and little enough that every pod finds a node. */
const requestedShare = 0.7;
const plotFile = 'docs/usage-study.svg';

/** The same day twice: everything but the plugin NodeUsage is equal. */
export function runStudy({ seed, nodes, lengthMs }: Study): Runs {
  const run = (isUsageAware: boolean): Sample[] => {
    // Made anew, as pods have a state of their own; by its seed it is the same.
    const pods = createTrace({ seed, lengthMs, requestedMilli: requestedShare * nodes * machineMilli });
    return simulate({ nodes, lengthMs, pods, isUsageAware, seed });
  };
  return { requestsOnly: run(false), usageAware: run(true) };
}

/** Usage-aware to requests-only, at most: well above what is measured (docs/scheduler.md), and below 1. */
const bounds: Partial<Record<keyof Summary, number>> = { deviation: 0.9, overloaded: 0.85, throttled: 0.6, missing: 0.6 };

const units: Readonly<Record<keyof Summary, readonly [name: string, unit: string]>> = {
  deviation: ["standard deviation of the nodes' CPU use", '%'],
  overloaded: ['node-minutes with more than 90 % of the CPU wanted', '%'],
  throttled: ['pod-minutes with less CPU than wanted', '%'],
  missing: ['CPU that pods did not get', 'core-hours'],
  memoryDeviation: ["standard deviation of the nodes' memory use", '%'],
  memoryOverloaded: ['node-minutes with more than 90 % of the memory in use', '%'],
  use: ['mean CPU use', '%'],
  waiting: ['waiting for a node', 'pod-minutes'],
};

function figuresOf({ requestsOnly, usageAware }: Runs): Figure[] {
  const [before, after] = [summarise(requestsOnly), summarise(usageAware)];
  const keys = Object.keys(units) as (keyof Summary)[];
  return keys.flatMap((key) => {
    const [name, unit] = units[key];
    const bound = bounds[key];
    return [
      note(`${name}, requests only`, before[key], unit),
      note(`${name}, usage-aware`, after[key], unit),
      ...(bound === undefined ? [] : [atMost(`${name}, usage-aware to requests only`, after[key] / before[key], 'x', bound)]),
    ];
  });
}

/**
 * `npm run bench -- study`: a simulated day of 100 nodes whose pods use something else than they asked for, placed by
 * requests alone and by requests and usage. `npm run bench -- study day plot` writes the picture in docs/, too;
 * `plot=FILE` elsewhere.
 */
export function benchStudy(say: (text: string) => void, names: readonly string[]): Promise<Figure[]> {
  let runs: Runs | undefined;
  const runOnce = (): Runs => {
    runs ??= runStudy(day);
    return runs;
  };
  const parts = {
    day: async () => figuresOf(runOnce()),
    plot: async (_: unknown, file = plotFile) => {
      writeFileSync(file, plotStudy(runOnce()));
      say(`wrote ${file}`);
      return [];
    },
  };
  return runParts({ name: 'study', parts, onlyNamed: ['plot'] }, say, names);
}
