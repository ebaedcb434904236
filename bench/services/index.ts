import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { TableService } from '../../agent/service-table/service.ts';
import { createServiceTable, type ServiceTable } from '../../agent/service-table/service-table.ts';
import { endpoint, port, tableService } from '../../test/builders/table-service.ts';
import { createServiceNetwork, podAddress, type ServiceNetwork } from '../../test/fakes/service-network.ts';
import { atMost, type Figure, median, note } from '../figure.ts';
import { type Parts, runParts } from '../parts.ts';
import { cpuSecondsOfEndedChildren } from '../process-costs.ts';
import { childrenNamed } from './children.ts';

// The node's table of Services, in network namespaces of its own; needs root, nftables, iproute2 and conntrack. Times
// depend on the machine and what else it does.

const SERVICES = 5_000;
const ENDPOINTS = 3;
const CHANGES = 500;
const ROUNDS = 3_000;
const settings = {
  cluster: 'bench',
  node: 'node1',
  podRanges: ['10.42.0.0/16'],
  serviceRanges: ['10.43.0.0/16'],
};
// From the build the benchmarks run in dist/.
const peer = fileURLToPath(new URL('../../../test/fakes/service-peer.js', import.meta.url));

function service(index: number, endpoints = ENDPOINTS): TableService {
  const address = `10.43.${100 + (index >> 8)}.${index & 255}`;
  const all = Array.from({ length: endpoints }, (_, at) =>
    endpoint(`10.42.${1 + (index % 200)}.${at + 1 + 3 * (index % 80)}`, 8080, { node: 'node2' }),
  );
  return tableService(address, [port(80, all)]);
}

interface Running {
  readonly table: ServiceTable;
  /** From the first Service set to all in force, in seconds. */
  readonly coldSeconds: number;
  stop(): Promise<void>;
}

async function start(network: ServiceNetwork, count: number): Promise<Running> {
  const aborter = new AbortController();
  const logger = { debug() {}, info() {}, warn: console.error, error: console.error };
  const beganAt = performance.now();
  const table = createServiceTable({ ...settings, prefix: network.prefix, logger });
  for (let index = 0; index < count; index++) table.set(`ns/s${index}`, service(index));
  const running = table.run(aborter.signal);
  await table.settled();
  const coldSeconds = (performance.now() - beganAt) / 1_000;
  const stop = async (): Promise<void> => {
    aborter.abort();
    await running;
  };
  return { table, coldSeconds, stop };
}

async function inNetwork(run: (network: ServiceNetwork) => Promise<Figure[]>): Promise<Figure[]> {
  const network = await createServiceNetwork(peer, 1);
  try {
    return await run(network);
  } finally {
    await network.close();
  }
}

const cpuOf = (pid: number): number => {
  // Nanoseconds on a processor; stat counts in hundredths of a second.
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
};

/** The whole table, and one endpoint after the other coming and going. */
const table = (): Promise<Figure[]> =>
  inNetwork(async (network) => {
    const before = process.memoryUsage().rss;
    const [coldBefore, childrenBefore] = [process.cpuUsage(), cpuSecondsOfEndedChildren()];
    const running = await start(network, SERVICES);
    const cold = process.cpuUsage(coldBefore);
    const coldCpu = (cold.user + cold.system) / 1e6 + cpuSecondsOfEndedChildren() - childrenBefore;
    // A change first, so that the kept process runs.
    running.table.set('ns/s0', service(0, ENDPOINTS + 1));
    await running.table.settled();
    // The kept process is replaced now and then.
    const nftCpuNow = (): number => cpuSecondsOfEndedChildren() * 1e3 + cpuOf(childrenNamed('nft')[0]!);
    const [agentBefore, nftBefore] = [process.cpuUsage(), nftCpuNow()];
    const times: number[] = [];
    for (let change = 1; change <= CHANGES; change++) {
      const beganAt = performance.now();
      running.table.set(`ns/s${change}`, service(change, change % 2 ? ENDPOINTS + 1 : ENDPOINTS - 1));
      await running.table.settled();
      times.push(performance.now() - beganAt);
    }
    const agent = process.cpuUsage(agentBefore);
    const nftCpu = nftCpuNow() - nftBefore;
    const nft = childrenNamed('nft')[0]!;
    const rss = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${nft}/status`, 'utf8'))?.[1]) / 1_000;
    times.sort((a, b) => a - b);
    await running.stop();
    return [
      atMost('cold start of 5,000 Services with 3 endpoints each', running.coldSeconds, 's', 1.5),
      note('processor time of the cold start', coldCpu, 's'),
      note('one endpoint changed, p50', median(times), 'ms'),
      atMost('one endpoint changed, p99', times[Math.floor(times.length * 0.99)]!, 'ms', 20),
      atMost('processor time of a change in nft and agent', (nftCpu + (agent.user + agent.system) / 1e3) / CHANGES, 'ms', 2),
      note('of it in nft', nftCpu / CHANGES, 'ms'),
      note('memory of the nft process', rss, 'MB'),
      note('memory of this process, more than before', (process.memoryUsage().rss - before) / 1e6, 'MB'),
    ];
  });

/** Handshakes through a cluster address and to the endpoint itself, in turn. */
async function connectAt(count: number): Promise<Figure[]> {
  return inNetwork(async (network) => {
    await network.pods[0]!.ask('serve', { name: 'e1', tcp: 8080 });
    const running = await start(network, count - 1);
    running.table.set('ns/tried', tableService('10.43.0.1', [port(80, [endpoint(podAddress(0))])]));
    await running.table.settled();
    const targets = [
      { host: podAddress(0), port: 8080 },
      { host: '10.43.0.1', port: 80 },
    ];
    await network.client.ask('compare', { targets, rounds: 500 });
    const { us } = await network.client.ask('compare', { targets, rounds: ROUNDS });
    await running.stop();
    const [direct, through] = [median(us![0]!), median(us![1]!)];
    const name = `${count.toLocaleString('en')} Services`;
    return [
      note(`direct connect beside ${name}, p50`, direct, 'us'),
      note(`connect through a cluster address at ${name}, p50`, through, 'us'),
      atMost(`connect through a cluster address at ${name}, against direct`, through / direct, 'times', 1.05),
    ];
  });
}

const connect = async (): Promise<Figure[]> => [...(await connectAt(5)), ...(await connectAt(SERVICES))];

/** They are also parts of `network`. */
export const serviceParts = { table, connect };
const parts: Parts = { name: 'services', parts: serviceParts };

/** What a node's table of Services costs. */
export function benchServices(say: (text: string) => void, words: readonly string[]): Promise<Figure[]> {
  return runParts(parts, say, words);
}
