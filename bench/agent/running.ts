import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Figure, note } from '../figure.ts';
import { cpuSeconds, readMemory } from '../process-costs.ts';
import { berthRound } from './rounds.ts';
import { withBerth } from './with-berth.ts';

const settleSeconds = 20;
const windowSeconds = 60;

/** What the agent holds and takes while 100 pods run and nothing happens. */
export function benchRunning(say: (text: string) => void): Promise<Figure[]> {
  return withBerth([], async (berth, engine) => {
    const pids = [berth.agent.pid!];
    let cpu = 0;
    let memory = readMemory(pids);
    const onRunning = async () => {
      say(`100 pods run; measuring the agent for ${windowSeconds} s`);
      await delay(settleSeconds * 1000);
      const before = cpuSeconds(pids);
      await delay(windowSeconds * 1000);
      cpu = (100 * (cpuSeconds(pids) - before)) / windowSeconds;
      memory = readMemory(pids);
    };
    await berthRound(berth, engine, { count: 100, onRunning });
    return [
      atMost('memory of the agent with 100 pods', memory.total, 'MB', 120),
      note('anonymous memory of the agent with 100 pods', memory.anonymous, 'MB'),
      atMost('processor of the agent with 100 pods', cpu, '% of a core', 3),
    ];
  });
}
