import type { Node, Pod } from '../../api/generated/types.ts';
import { labels } from '../../api/meta/well-known.ts';
import { type Cache, createCache } from '../../scheduler/cache/cache.ts';
import { createNodeTable } from '../../scheduler/cache/node-table.ts';
import { podInfo } from '../../scheduler/framework/pod-info.ts';
import { createRunner } from '../../scheduler/framework/runner.ts';
import { defaultProfile } from '../../scheduler/profile.ts';
import { createChance } from './chance.ts';
import type { TracedPod } from './trace.ts';

export interface SimulationOptions {
  readonly nodes: number;
  readonly lengthMs: number;
  readonly pods: readonly TracedPod[];
  /** Whether the plugin NodeUsage is in the profile: nothing else differs. */
  readonly isUsageAware: boolean;
  readonly seed: number;
}

/** What the nodes did between two steps. */
export interface Sample {
  readonly at: number;
  /** Of each node: what its pods would use, as a share of what it has; above 1 they wait for each other. */
  readonly demand: Float64Array;
  /** Of each node: memory held, as a share. */
  readonly memory: Float64Array;
  readonly pods: number;
  /** Pods that got less CPU than they would have used. */
  readonly throttled: number;
  /** Thousandths of a core that they did not get. */
  readonly missingMilli: number;
  /** Pods that no node has room for. */
  readonly waiting: number;
}

/** The same day, by the requests of pods alone and by their use. */
export interface Runs {
  readonly requestsOnly: readonly Sample[];
  readonly usageAware: readonly Sample[];
}

/** As an agent looks; it reports when something changed by more than 5 %, and every 60 s. */
export const stepMs = 15_000;
const reportMs = 60_000;
const newsShare = 0.05;
export const machineMilli = 16_000;
const machineMemory = 64 * 1024 ** 3;
const dayStart = Date.UTC(2026, 0, 5);

interface Running {
  readonly traced: TracedPod;
  readonly pod: Pod;
  readonly endsAt: number;
}

interface Machine {
  readonly node: Node;
  readonly running: Set<Running>;
  reported: { readonly at: number; readonly cpu: number; readonly memory: number } | undefined;
}

/**
 * Runs the scheduler's own cache and framework, with the default profile, through a day of arrivals, departures and
 * reports, in simulated time. There is no API: a binding is known at once. Pods without a node are tried again at every
 * step, the oldest first.
 */
export function simulate({ nodes, lengthMs, pods, isUsageAware, seed }: SimulationOptions): Sample[] {
  let at = 0;
  const cache = createCache({ now: () => dayStart + at });
  const place = createPlacer(cache, { isUsageAware, seed, now: () => dayStart + at });
  const machines = new Map(Array.from({ length: nodes }, (_, i) => [`node-${i}`, createMachine(`node-${i}`)]));
  for (const { node } of machines.values()) cache.setNode(node);
  const arrivals = [...pods].sort((a, b) => a.arrivesAt - b.arrivesAt);
  let waiting: TracedPod[] = [];
  let next = 0;
  const samples: Sample[] = [];
  for (; at < lengthMs; at += stepMs) {
    for (const machine of machines.values()) endPods(machine, cache, at);
    while (next < arrivals.length && arrivals[next]!.arrivesAt <= at) waiting.push(arrivals[next++]!);
    waiting = waiting.filter((traced) => {
      const placed = place(traced);
      if (placed === undefined) return true;
      machines.get(placed.nodeName)!.running.add({ traced, pod: placed.pod, endsAt: at + traced.lastsMs });
      return false;
    });
    samples.push(measure([...machines.values()], at, waiting.length));
    for (const [i, machine] of [...machines.values()].entries())
      report(machine, cache, { sample: samples.at(-1)!, index: i, at });
  }
  return samples;
}

interface PlacerOptions {
  readonly isUsageAware: boolean;
  readonly seed: number;
  readonly now: () => number;
}

function createPlacer(cache: Cache, { isUsageAware, seed, now }: PlacerOptions) {
  const complete = defaultProfile({ name: 'Bind' });
  const plugins = complete.plugins.filter(({ plugin }) => isUsageAware || plugin.name !== 'NodeUsage');
  const runner = createRunner({ profile: { ...complete, plugins }, random: createChance(seed).next });
  const table = createNodeTable();
  return (traced: TracedPod): { nodeName: string; pod: Pod } | undefined => {
    const pod = podOf(traced);
    const info = podInfo(pod);
    cache.sync(table, info);
    const decision = runner.decide({ pod: info, nodes: table, now: now() });
    if (decision.kind !== 'placed') return undefined;
    const bound = { ...pod, spec: { ...pod.spec, nodeName: decision.nodeName } };
    cache.assume(info, decision.nodeName);
    cache.setPod(bound);
    return { nodeName: decision.nodeName, pod: bound };
  };
}

function podOf({ name, app, cpuMilli, memory }: TracedPod): Pod {
  const requests = { cpu: { string: `${cpuMilli}m` }, memory: { string: String(memory) } };
  return {
    metadata: {
      ...{ namespace: 'default', name, uid: name, labels: { app } },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: app, uid: app, controller: true }],
    },
    spec: { schedulerName: 'default-scheduler', containers: [{ name: 'main', image: `${app}:1`, resources: { requests } }] },
  };
}

function createMachine(name: string): Machine {
  const size = { cpu: { string: `${machineMilli}m` }, memory: { string: String(machineMemory) }, pods: { string: '110' } };
  const node: Node = {
    metadata: { name, uid: name, labels: { [labels.hostname]: name } },
    status: { capacity: size, allocatable: size, conditions: [{ type: 'Ready', status: 'True' }] },
  };
  return { node, running: new Set(), reported: undefined };
}

function endPods({ running }: Machine, cache: Cache, at: number): void {
  for (const each of running) {
    if (each.endsAt > at) continue;
    running.delete(each);
    cache.removePod(each.pod);
  }
}

function measure(machines: readonly Machine[], at: number, waiting: number): Sample {
  const demand = new Float64Array(machines.length);
  const memory = new Float64Array(machines.length);
  let [pods, throttled, missingMilli] = [0, 0, 0];
  for (const [i, { running }] of machines.entries()) {
    const wants: { milli: number; weight: number }[] = [];
    let held = 0;
    for (const { traced } of running) {
      wants.push({ milli: traced.demand(at), weight: traced.cpuMilli });
      held += traced.memoryShare * traced.memory;
    }
    const wanted = wants.reduce((sum, { milli }) => sum + milli, 0);
    pods += wants.length;
    demand[i] = wanted / machineMilli;
    memory[i] = held / machineMemory;
    if (wanted <= machineMilli) continue;
    throttled += countThrottled(wants);
    missingMilli += wanted - machineMilli;
  }
  return { at, demand, memory, pods, throttled, missingMilli, waiting };
}

/**
 * The kernel shares CPU by requests: who wants less than that gets it all,
 * and what is left is shared among the others in the same way.
 */
function countThrottled(wants: readonly { readonly milli: number; readonly weight: number }[]): number {
  let [left, weight] = [machineMilli, wants.reduce((sum, want) => sum + want.weight, 0)];
  const byGreed = [...wants].sort((a, b) => a.milli / a.weight - b.milli / b.weight);
  for (const [i, want] of byGreed.entries()) {
    if (want.milli > (left * want.weight) / weight) return byGreed.length - i;
    left -= want.milli;
    weight -= want.weight;
  }
  return 0;
}

interface Look {
  readonly sample: Sample;
  readonly index: number;
  readonly at: number;
}

/** What the agent says: a machine cannot use more than it has. */
function report(machine: Machine, cache: Cache, { sample, index, at }: Look): void {
  const cpu = Math.min(1, sample.demand[index]!);
  const memory = Math.min(1, sample.memory[index]!);
  const { reported } = machine;
  const isNews = (now: number, before: number) => Math.abs(now - before) > newsShare * before;
  if (reported && at - reported.at < reportMs && !isNews(cpu, reported.cpu) && !isNews(memory, reported.memory)) return;
  machine.reported = { at, cpu, memory };
  const usage = {
    timestamp: { seconds: (dayStart + at) / 1000 },
    windowSeconds: stepMs / 1000,
    cpu: { string: `${Math.round(cpu * machineMilli)}m` },
    memory: { string: String(Math.round(memory * machineMemory)) },
  };
  cache.setNode({ ...machine.node, status: { ...machine.node.status, usage } });
}
