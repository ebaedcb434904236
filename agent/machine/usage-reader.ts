import type { ContainerMetrics, NodeMetrics, NodeUsage, PodMetrics, Quantity } from '../../api/generated/types.ts';
import { formatCpu, formatMemory } from '../../api/meta/quantity.ts';
import { timestamp } from '../../api/meta/time.ts';
import { type ObservedContainer, sandboxName } from '../runtime/runtime.ts';
import { findCgroup, readContainerFigures, readPodNetwork } from './container-usage.ts';
import { type MachineFigures, readMachineFigures } from './machine-usage.ts';
import type { CgroupPaths } from './parse.ts';

export interface UsageReaderOptions {
  readonly nodeName: string;
  /** Whose file system's fill is reported. */
  readonly dataDir: string;
  /** Where /proc and /sys are; "/" but in tests. */
  readonly root?: string | undefined;
  readonly now?: (() => Date) | undefined;
}

export interface UsageSample {
  readonly usage: NodeUsage;
  /** Complete but for metadata beyond the name. */
  readonly metrics: NodeMetrics;
}

/** Reads what the machine and its containers use. Rates (CPU, network) are averaged since the sample before and absent from the first one. */
export interface UsageReader {
  /** Not concurrently. What cannot be read is absent; it never throws. */
  sample(containers: readonly ObservedContainer[]): Promise<UsageSample>;
}

interface Before {
  readonly at: number;
  readonly machine: MachineFigures;
}

interface Tracked {
  readonly pid: number;
  readonly paths: CgroupPaths;
  readonly at: number;
  readonly cpuSeconds: number;
}

export function createUsageReader(options: UsageReaderOptions): UsageReader {
  const root = options.root ?? '/';
  const now = options.now ?? (() => new Date());
  let before: Before | undefined;
  let tracked = new Map<string, Tracked>();

  function containerUsage(container: ObservedContainer, at: number, next: Map<string, Tracked>): ContainerMetrics | undefined {
    if (container.pid === undefined) return undefined;
    const last = tracked.get(container.id);
    const same = last?.pid === container.pid ? last : undefined;
    const paths = same?.paths ?? findCgroup(root, container.pid);
    const figures = paths && readContainerFigures(root, paths);
    if (paths === undefined || figures === undefined) return undefined;
    next.set(container.id, { pid: container.pid, paths, at, cpuSeconds: figures.cpuSeconds });
    const cores = same && rate(figures.cpuSeconds - same.cpuSeconds, at - same.at);
    const memory = bytes(figures.workingSetBytes);
    return { name: container.containerName, usage: cores === undefined ? { memory } : { cpu: cpu(cores), memory } };
  }

  function podUsage(containers: readonly ObservedContainer[], at: number, next: Map<string, Tracked>): PodMetrics | undefined {
    const first = containers[0];
    if (first === undefined) return undefined;
    const sandbox = containers.find((container) => container.containerName === sandboxName);
    // Without an address of its own a pod is in the machine's network, whose traffic is not the pod's.
    const network = sandbox?.pid !== undefined && sandbox.ip !== undefined ? readPodNetwork(root, sandbox.pid) : undefined;
    const members = containers.filter((container) => container !== sandbox);
    return {
      namespace: first.podNamespace,
      name: first.podName,
      uid: first.podUid,
      containers: members.map((member) => containerUsage(member, at, next)).filter((metrics) => metrics !== undefined),
      ...(network && { networkReceiveBytes: network.received, networkTransmitBytes: network.sent }),
    };
  }

  return {
    async sample(containers) {
      const moment = now();
      const at = moment.getTime();
      const machine = await readMachineFigures(root, options.dataDir);
      const next = new Map<string, Tracked>();
      const pods = [...groupByPod(containers).values()]
        .map((group) => podUsage(group, at, next))
        .filter((pod) => pod !== undefined);
      const usage = nodeUsage(moment, machine, before);
      const windowSeconds = before === undefined ? 0 : Math.round((at - before.at) / 1000);
      before = { at, machine };
      tracked = next;
      const summary = { ...(usage.cpu && { cpu: usage.cpu }), ...(usage.memory && { memory: usage.memory }) };
      return {
        usage,
        metrics: {
          metadata: { name: options.nodeName },
          timestamp: timestamp(moment),
          window: { seconds: windowSeconds },
          usage: summary,
          node: usage,
          pods,
        },
      };
    },
  };
}

function nodeUsage(moment: Date, machine: MachineFigures, before: Before | undefined): NodeUsage {
  const elapsed = before === undefined ? 0 : moment.getTime() - before.at;
  const past = before?.machine;
  const cores = difference(machine.cpuBusySeconds, past?.cpuBusySeconds, elapsed);
  const received = difference(machine.network.received, past?.network.received, elapsed);
  const sent = difference(machine.network.sent, past?.network.sent, elapsed);
  return {
    timestamp: timestamp(moment),
    ...(cores !== undefined && { cpu: cpu(cores) }),
    ...(machine.memoryUsedBytes !== undefined && { memory: bytes(machine.memoryUsedBytes) }),
    ...(machine.disk && { disk: bytes(machine.disk.usedBytes), diskCapacity: bytes(machine.disk.sizeBytes) }),
    ...(received !== undefined && { networkReceiveBytesPerSecond: Math.round(received) }),
    ...(sent !== undefined && { networkTransmitBytesPerSecond: Math.round(sent) }),
    ...(machine.load && { load1: machine.load[0], load5: machine.load[1], load15: machine.load[2] }),
    windowSeconds: elapsed / 1000,
  };
}

function difference(now: number | undefined, past: number | undefined, elapsedMs: number): number | undefined {
  return now === undefined || past === undefined ? undefined : rate(now - past, elapsedMs);
}

/** Per second; undefined when no time has passed or a counter began anew. */
function rate(amount: number, elapsedMs: number): number | undefined {
  return elapsedMs <= 0 || amount < 0 ? undefined : (amount * 1000) / elapsedMs;
}

function cpu(cores: number): Quantity {
  return { string: formatCpu(cores * 1000) };
}

function bytes(amount: number): Quantity {
  return { string: formatMemory(amount) };
}

function groupByPod(containers: readonly ObservedContainer[]): Map<string, ObservedContainer[]> {
  const pods = new Map<string, ObservedContainer[]>();
  for (const container of containers) {
    if (container.state !== 'running') continue;
    const group = pods.get(container.podUid);
    if (group === undefined) pods.set(container.podUid, [container]);
    else group.push(container);
  }
  return pods;
}
