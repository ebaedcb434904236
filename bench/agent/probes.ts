import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Figure, note } from '../figure.ts';
import { cpuSeconds, engineCpuSeconds } from '../process-costs.ts';
import { berthRound } from './rounds.ts';
import { withBerth } from './with-berth.ts';

const periodSeconds = 10;
const settleSeconds = 20;
const windowSeconds = 60;
const probe = { handler: { exec: { command: ['true'] } }, periodSeconds, timeoutSeconds: 10 };

/** What 100 probes cost that run a command every 10 s: the agent, and beside it the engine that carries them out. */
export function benchProbes(say: (text: string) => void): Promise<Figure[]> {
  return withBerth([], async (berth, engine) => {
    const measure = async (container: object): Promise<{ agent: number; engine: number }> => {
      const share = { agent: 0, engine: 0 };
      const onRunning = async () => {
        await delay(settleSeconds * 1000);
        const before = { agent: cpuSeconds([berth.agent.pid!]), engine: engineCpuSeconds() };
        await delay(windowSeconds * 1000);
        share.agent = (100 * (cpuSeconds([berth.agent.pid!]) - before.agent)) / windowSeconds;
        share.engine = (100 * (engineCpuSeconds() - before.engine)) / windowSeconds;
      };
      await berthRound(berth, engine, { count: 100, container, onRunning });
      say(`agent ${share.agent.toFixed(1)} %, engine ${share.engine.toFixed(1)} %`);
      return share;
    };
    say(`100 pods with a probe every ${periodSeconds} s, measured for ${windowSeconds} s; then 100 pods without`);
    const probed = await measure({ livenessProbe: probe });
    const idle = await measure({});
    return [
      atMost('processor of the agent with 100 exec probes', probed.agent, '% of a core', 4),
      note('processor of the engine with 100 exec probes', probed.engine, '% of a core'),
      note('processor of the agent without', idle.agent, '% of a core'),
      note('processor of the engine without', idle.engine, '% of a core'),
    ];
  });
}
