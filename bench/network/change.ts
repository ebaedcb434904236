import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import type { Client } from '../../client/index.ts';
import { atMost, type Figure, median, note } from '../figure.ts';
import type { Part } from '../parts.ts';
import { cpuSecondsWithChildren, nftOf } from '../process-costs.ts';
import { type BenchHosts, hosts, namespace, onHosts, podOn, programPath, until } from './hosts.ts';
import { createServices } from './many-services.ts';
import { spent, untilRest } from './rest.ts';

const defaultChanges = 200;
const services = 5_000;
/** Between two changes. */
const restMs = 100;
const name = 'door';
const gate = 'bench.berth/open';

/**
 * From a pod's condition Ready to when every node takes connections to its Service, beside 5,000 Services with three
 * endpoints each: a program on each node tries all the time. The condition follows a readiness gate, and counts from
 * when a watch tells it. `change=N`: N changes.
 */
export const benchChange: Part = (say, option) =>
  onHosts(async (cluster) => {
    const changes = Number(option ?? defaultChanges);
    const { client } = cluster;
    await createServices(client, services);
    say(`${services} Services are there`);
    await client.services.create({ metadata: { namespace, name }, spec: { selector: { app: name }, ports: [{ port: 80 }] } });
    const pod = podOn('h1', name, ['httpd', '-f', '-p', '80']);
    await client.pods.create({ ...pod, spec: { ...pod.spec, readinessGates: [{ conditionType: gate }] } });
    const { clusterIP = '' } = (await client.services.get({ namespace, name })).spec ?? {};
    const conditions = await followReady(client);
    const doors = hosts.map((host) => watchDoor(cluster, host, clusterIP));
    return await measure({ cluster, conditions, doors, changes, say });
  });

interface Measured {
  readonly cluster: BenchHosts;
  readonly conditions: Moments;
  readonly doors: readonly Moments[];
  readonly changes: number;
  readonly say: (text: string) => void;
}

async function measure({ cluster, conditions, doors, changes, say }: Measured): Promise<Figure[]> {
  const costs = await Promise.all(hosts.map((host) => cluster.agentOf(host)));
  const cpu = (): number => cpuSecondsWithChildren(costs.flatMap(({ agent }) => [agent, ...nftOf(agent)]));
  const idle = await untilRest({ cpu, say });
  const [fromReady, fromPatch]: [number[], number[]] = [[], []];
  const busy = await spent(cpu, async () => {
    for (let change = 1; change <= changes; change++) {
      const patchedAt = process.hrtime.bigint();
      await open(cluster.client, true);
      const readyAt = await conditions.reached(true);
      const openAt = latest(await Promise.all(doors.map((door) => door.reached(true))));
      // Its watch may tell a node before the benchmark.
      fromReady.push(Math.max(0, Number(openAt - readyAt) / 1e6));
      fromPatch.push(Number(openAt - patchedAt) / 1e6);
      await delay(restMs);
      await open(cluster.client, false);
      await Promise.all([conditions, ...doors].map((each) => each.reached(false)));
      await delay(restMs);
      if (change % 50 === 0) say(`${change} of ${changes} changes: p50 ${median(fromReady).toFixed(1)} ms`);
    }
  });
  const share = (busy.cpu - (idle.cpu / idle.seconds) * busy.seconds) / (2 * changes * hosts.length);
  return [
    note('condition Ready to in force on every node, p50', median(fromReady), 'ms'),
    atMost('condition Ready to in force on every node, p99', percentile(fromReady, 0.99), 'ms', 100),
    note('from the write of the gate to in force on every node, p50', median(fromPatch), 'ms'),
    note('from the write of the gate to in force on every node, p99', percentile(fromPatch, 0.99), 'ms'),
    // Also for what watches: no bound. `network table` has that of the change itself.
    note('processor time of an agent and its nft processes per change', 1_000 * Math.max(0, share), 'ms'),
    note('processor of an agent while nothing changes', (100 * idle.cpu) / idle.seconds / hosts.length, '% of a core'),
  ];
}

const open = (client: Client, isOpen: boolean): Promise<unknown> =>
  client.pods.patch(
    { namespace, name, subresource: 'status', type: 'strategic' },
    { status: { conditions: [{ type: gate, status: isOpen ? 'True' : 'False' }] } },
  );

const latest = (times: readonly bigint[]): bigint => times.toSorted((a, b) => Number(a - b)).at(-1) ?? 0n;
const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1]!;

/** Something that is on or off, and since when by `process.hrtime`. */
class Moments {
  #is: boolean | undefined;
  #at = 0n;

  set(is: boolean, at: bigint): void {
    if (is === this.#is) return;
    this.#is = is;
    this.#at = at;
  }

  async reached(is: boolean): Promise<bigint> {
    const deadline = Date.now() + 30_000;
    while (this.#is !== is) {
      if (Date.now() > deadline) throw new Error(`a change was not in force within 30 s: it is to be ${is}`);
      await delay(1);
    }
    return this.#at;
  }
}

async function followReady(client: Client): Promise<Moments> {
  const moments = new Moments();
  const { resourceVersion } = (await client.pods.list({ namespace })).metadata;
  const watching = async (): Promise<void> => {
    for await (const events of client.pods.watch({ namespace, resourceVersion }, {}))
      for (const { object } of events)
        if (object.metadata?.name === name) moments.set(isPodReady(object), process.hrtime.bigint());
  };
  // It ends with the client; a loss shows in what is not reached.
  void watching().catch(() => undefined);
  await until('the pod runs', async () => {
    const { status } = await client.pods.get({ namespace, name });
    return status?.phase === 'Running' || undefined;
  });
  return moments;
}

function watchDoor(cluster: BenchHosts, host: (typeof hosts)[number], address: string): Moments {
  const moments = new Moments();
  const program = cluster.start(host, process.execPath, programPath('door-watch.js'), address, '80');
  createInterface({ input: program.stdout! }).on('line', (line) => {
    const [state, at = '0'] = line.split(' ');
    moments.set(state === 'open', BigInt(at));
  });
  return moments;
}
