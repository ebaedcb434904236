import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { atLeast, atMost, type Figure, median, note } from '../figure.ts';
import { type Part, runParts } from '../parts.ts';
import {
  checkPrograms,
  type Load,
  megabytes,
  type NamesProcess,
  runLoad,
  startResolverProcess,
  startUnbound,
} from './programs.ts';
import { ownQueries, worldQueries } from './zone.ts';

const rounds = 3;
const seconds = 5;
const steadyRate = 10_000;

/**
 * `npm run bench -- names`: the resolver's queries per second of processor time, its p99 at 10,000 queries a second,
 * and its memory with 5,000 services, by dnsperf (Debian's packages dnsperf and unbound). Unbound beside it has the
 * same names as local data, in one thread; the rounds take turns.
 */
export function benchNames(say: (text: string) => void, words: readonly string[]): Promise<Figure[]> {
  checkPrograms();
  return runParts({ name: 'names', parts: { throughput: measured(throughput), latency: measured(latency), memory } }, say, words);
}

interface Servers {
  readonly folder: string;
  readonly resolver: NamesProcess;
  readonly unbound: NamesProcess;
}

/** Both servers, warmed up: Node.js compiles what runs often in the first seconds. */
function measured(measure: (servers: Servers, say: (text: string) => void) => Promise<Figure[]>): Part {
  return async (say) => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-bench-names-'));
    const unbound = await startUnbound(folder);
    const resolver = await startResolverProcess(unbound.port);
    try {
      for (const queries of [ownQueries(), worldQueries(), worldQueries('.bench.svc.cluster.local')])
        await runLoad(resolver, { folder, queries, seconds });
      return await measure({ folder, resolver, unbound }, say);
    } finally {
      await resolver.stop();
      await unbound.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

async function throughput({ folder, resolver, unbound }: Servers, say: (text: string) => void): Promise<Figure[]> {
  const own = { folder, queries: ownQueries(), seconds };
  const loads: Record<'own' | 'cached' | 'searched' | 'unbound', Load[]> = { own: [], cached: [], searched: [], unbound: [] };
  for (let round = 1; round <= rounds; round++) {
    loads.own.push(await runLoad(resolver, own));
    loads.unbound.push(await runLoad(unbound, own));
    loads.cached.push(await runLoad(resolver, { ...own, queries: worldQueries() }));
    loads.searched.push(await runLoad(resolver, { ...own, queries: worldQueries('.bench.svc.cluster.local') }));
    say(
      `round ${round}: ${Math.round(loads.own.at(-1)!.perCpuSecond)} per CPU-second, unbound ${Math.round(loads.unbound.at(-1)!.perCpuSecond)}`,
    );
  }
  const perCpu = (list: readonly Load[]): number => median(list.map((load) => load.perCpuSecond));
  return [
    atLeast('names of the cluster', perCpu(loads.own), 'queries per CPU-second', 35_000),
    note('names of the cluster, unbound', perCpu(loads.unbound), 'queries per CPU-second'),
    note('names of others, cached', perCpu(loads.cached), 'queries per CPU-second'),
    note('names of others over a search path, cached', perCpu(loads.searched), 'queries per CPU-second'),
    note('answers', median(loads.own.map((load) => load.rate)), 'per second'),
    atMost('lost', Math.max(...[...loads.own, ...loads.cached, ...loads.searched].map((load) => load.lost)), 'queries', 0),
  ];
}

async function latency({ folder, resolver, unbound }: Servers, say: (text: string) => void): Promise<Figure[]> {
  const own: number[] = [];
  const others: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const load = { folder, queries: ownQueries(), seconds, perSecond: steadyRate };
    own.push((await runLoad(resolver, load)).p99Ms);
    others.push((await runLoad(unbound, load)).p99Ms);
    say(`round ${round}: p99 ${own.at(-1)} ms, unbound ${others.at(-1)} ms`);
  }
  return [
    atMost(`p99 at ${steadyRate} a second`, median(own), 'ms', 1),
    note(`p99 at ${steadyRate} a second, unbound`, median(others), 'ms'),
  ];
}

/** What the names cost beside an empty resolver, and what that costs; issue 17 gives 25 MB to all of the network. */
async function memory(): Promise<Figure[]> {
  const settleMs = 3000;
  const [empty, full] = [await startResolverProcess(undefined, 'empty'), await startResolverProcess()];
  try {
    await delay(settleMs);
    return [
      note('process with an empty resolver', megabytes(empty), 'MB'),
      note('5,000 services with 3 endpoints each', megabytes(full) - megabytes(empty), 'MB'),
    ];
  } finally {
    await empty.stop();
    await full.stop();
  }
}
