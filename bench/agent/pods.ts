import type { BenchBerth } from '../berth.ts';
import type { Engine } from '../engine.ts';
import { atMost, type Figure, median, note } from '../figure.ts';
import { cpuSeconds } from '../process-costs.ts';
import { berthRound, floorRound, type Sample } from './rounds.ts';
import { withBerth } from './with-berth.ts';

/** How many calls of the engine at once are tried where it is driven directly: the best of them is the floor. */
export const limits = [4, 8, 12];
/** Ends when it is asked to, as programs should. */
const obedient = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 3600 & wait $!; done'];

/**
 * How long it takes until N pods run and until they are gone, against the engine driven directly in the same run.
 * Rounds alternate, so that a drifting machine hits both; figures are medians. The processor's time is server and agent
 * together, per pod that came and went.
 */
export function benchPods(say: (text: string) => void): Promise<Figure[]> {
  return withBerth([], async (berth, engine) => {
    const pairs = (count: number, rounds: number, floorLimits: readonly number[]) =>
      comparePods({ berth, engine, say }, { count, rounds, limits: floorLimits });
    await pairs(1, 2, [1]); // Warms up both.
    const one = await pairs(1, 11, [1]);
    const quick: number[] = [];
    for (let round = 0; round < 7; round++)
      quick.push((await berthRound(berth, engine, { count: 1, command: obedient, gracePeriodSeconds: 30 })).remove);
    const twenty = await pairs(20, 3, limits);
    const hundred = await pairs(100, 2, limits);
    return [
      note('floor 1 pod p50', one.floor.run, 's'),
      atMost('1 pod p50', one.ours.run, 's', one.floor.run + 0.08),
      atMost('deletion of 1 obedient pod p50', median(quick), 's', 0.5),
      note('floor 20 pods', twenty.floor.run, 's'),
      note('20 pods', twenty.ours.run, 's'),
      atMost('20 pods ratio', twenty.ours.run / twenty.floor.run, 'x', 1.12),
      note('floor 100 pods', hundred.floor.run, 's'),
      note('100 pods', hundred.ours.run, 's'),
      atMost('100 pods ratio', hundred.ours.run / hundred.floor.run, 'x', 1.1),
      note('floor removal of 100 pods', hundred.floor.remove, 's'),
      atMost('deletion of 100 pods', hundred.ours.remove, 's', hundred.floor.remove * 1.35 + 1),
      note('processor of the agent per pod', hundred.agentMs, 'ms'),
      note('processor of the server per pod', hundred.serverMs, 'ms'),
    ];
  });
}

interface Sides {
  readonly berth: BenchBerth;
  readonly engine: Engine;
  readonly say: (text: string) => void;
}

interface Series {
  readonly count: number;
  readonly rounds: number;
  readonly limits: readonly number[];
}

interface Comparison {
  readonly floor: Sample;
  readonly ours: Sample;
  readonly agentMs: number;
  readonly serverMs: number;
}

/** The figures are medians; of the floor those of the best limit. */
export async function comparePods(
  { berth, engine, say }: Sides,
  { count, rounds, limits: floorLimits }: Series,
): Promise<Comparison> {
  const floors = new Map<number, Sample[]>(floorLimits.map((limit) => [limit, []]));
  const ours: Sample[] = [];
  const cpu = { agent: 0, server: 0 };
  for (let round = 0; round < rounds; round++) {
    for (const limit of floorLimits) floors.get(limit)?.push(await floorRound(engine, count, limit));
    const before = { agent: cpuSeconds([berth.agent.pid!]), server: cpuSeconds([berth.server.pid!]) };
    ours.push(await berthRound(berth, engine, { count }));
    cpu.agent += cpuSeconds([berth.agent.pid!]) - before.agent;
    cpu.server += cpuSeconds([berth.server.pid!]) - before.server;
    const { run, remove } = ours.at(-1)!;
    say(`${count} pods, round ${round + 1}/${rounds}: berth ${run.toFixed(2)} s, gone in ${remove.toFixed(2)} s`);
  }
  for (const [limit, samples] of floors) {
    const [run, remove] = [median(samples.map((sample) => sample.run)), median(samples.map((sample) => sample.remove))];
    say(`${count} pods, the engine alone, ${limit} at once: ${run.toFixed(2)} s, gone in ${remove.toFixed(2)} s`);
  }
  const best = (pick: (sample: Sample) => number): number =>
    Math.min(...[...floors.values()].map((samples) => median(samples.map(pick))));
  const perPod = (total: number): number => (1000 * total) / (rounds * count);
  return {
    floor: { run: best((sample) => sample.run), remove: best((sample) => sample.remove) },
    ours: { run: median(ours.map((sample) => sample.run)), remove: median(ours.map((sample) => sample.remove)) },
    agentMs: perPod(cpu.agent),
    serverMs: perPod(cpu.server),
  };
}
