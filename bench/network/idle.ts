import { setTimeout as delay } from 'node:timers/promises';
import { berthRound } from '../agent/rounds.ts';
import { withBerth } from '../agent/with-berth.ts';
import { atMost, mean, note } from '../figure.ts';
import type { Part } from '../parts.ts';
import { cpuSecondsWithChildren, nftOf, readMemory } from '../process-costs.ts';
import { createServices } from './many-services.ts';
import { untilRest } from './rest.ts';

const defaultPods = 100;
const services = 5_000;
/** So long after pods have started, the agent looks for what the engine forgot (runtime/docker/leftovers.ts). */
const sweepSeconds = 100;
const windowSeconds = 120;
/** Memory is the mean of as many readings: at rest an agent has up to 8 MB of garbage, until it is worth a pause. */
const readings = 12;

interface Costs {
  /** Of the agent, in megabytes; the resolver's worker is in it. */
  readonly agent: number;
  /** Of the nft processes that it keeps. */
  readonly nft: number;
  /** Of all, with what they start, in percent of a core. */
  readonly cpu: number;
}

/**
 * What the routed network costs an agent while nothing changes, with 5,000 Services of three endpoints each and 100
 * pods: against the same pods in the engine's network, without Services. `idle=N`: N pods.
 */
export const benchIdleNetwork: Part = async (say, option) => {
  const pods = Number(option ?? defaultPods);
  const engine = await costsOf('engine', { pods, services: 0, say });
  const routed = await costsOf('routed', { pods, services, say });
  const more = (key: keyof Costs): number => routed[key] - engine[key];
  return [
    note('pods', pods, 'pods'),
    note("memory of the agent, the engine's network without Services", engine.agent, 'MB'),
    note('memory of the agent, routed with 5,000 Services', routed.agent, 'MB'),
    note('memory of the nft processes', routed.nft, 'MB'),
    atMost('memory of agent and nft processes, more than without', more('agent') + more('nft'), 'MB', 25),
    note("processor of the agent, the engine's network", engine.cpu, '% of a core'),
    atMost('processor of agent and nft processes, more than without', more('cpu'), '% of a core', 0.5),
  ];
};

function costsOf(
  network: 'engine' | 'routed',
  { pods, services: count, say }: { readonly pods: number; readonly services: number; readonly say: (text: string) => void },
): Promise<Costs> {
  return withBerth(['--pod-network', network], async (berth, engine) => {
    if (count > 0) await createServices(berth.client, count);
    let costs: Costs = { agent: 0, nft: 0, cpu: 0 };
    const agent = berth.agent.pid!;
    const onRunning = async (): Promise<void> => {
      // Its nft processes are replaced now and then.
      const cpuNow = (): number => cpuSecondsWithChildren([agent, ...nftOf(agent)]);
      say(`${pods} pods run with the ${network} network; waiting until the agent is at rest`);
      await delay(sweepSeconds * 1_000);
      await untilRest({ cpu: cpuNow, say });
      say(`measuring it for ${windowSeconds} s`);
      const before = cpuNow();
      const [agentMegabytes, nftMegabytes]: [number[], number[]] = [[], []];
      for (let nth = 0; nth < readings; nth++) {
        await delay((windowSeconds * 1_000) / readings);
        const nft = nftOf(agent);
        agentMegabytes.push(readMemory([agent]).total);
        nftMegabytes.push(nft.length > 0 ? readMemory(nft).total : 0);
      }
      const cpu = (100 * (cpuNow() - before)) / windowSeconds;
      costs = { agent: mean(agentMegabytes), nft: mean(nftMegabytes), cpu };
    };
    await berthRound(berth, engine, { count: pods, onRunning });
    return costs;
  });
}
