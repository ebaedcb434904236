import { comparePods, limits } from '../agent/pods.ts';
import { withBerth } from '../agent/with-berth.ts';
import { atMost, note } from '../figure.ts';
import type { Part } from '../parts.ts';

const defaultRounds = 11;

/**
 * How long one pod and 100 pods take to start in the routed network, and to go, against the engine driven directly
 * with its own bridge, in turn, as `bench -- agent pods` does it. `start=N`: N rounds of one pod, N / 5 of 100.
 */
export const benchStart: Part = (say, option) =>
  withBerth(['--pod-network', 'routed'], async (berth, engine) => {
    const rounds = Number(option ?? defaultRounds);
    const sides = { berth, engine, say };
    await comparePods(sides, { count: 1, rounds: 2, limits: [1] }); // Warms up both.
    const one = await comparePods(sides, { count: 1, rounds, limits: [1] });
    const hundred = await comparePods(sides, { count: 100, rounds: Math.ceil(rounds / 5), limits });
    return [
      note('1 pod, the engine with its bridge, p50', one.floor.run, 's'),
      note('1 pod, p50', one.ours.run, 's'),
      atMost('1 pod against the engine', one.ours.run / one.floor.run, 'times', 0.95),
      note('100 pods, the engine with its bridge', hundred.floor.run, 's'),
      note('100 pods', hundred.ours.run, 's'),
      atMost('100 pods against the engine', hundred.ours.run / hundred.floor.run, 'times', 1),
      note('removal of 1 pod against the engine', one.ours.remove / one.floor.remove, 'times'),
      note('removal of 100 pods against the engine', hundred.ours.remove / hundred.floor.remove, 'times'),
      note('processor of the agent per pod, of 100', hundred.agentMs, 'ms'),
    ];
  });
