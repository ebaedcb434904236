import type { ContainerMetrics, NodeMetrics, NodeUsage, PodMetrics, Quantity } from '../../api/generated/types.ts';
import { formatCpu, formatMemory } from '../../api/meta/quantity.ts';
import { timestamp } from '../../api/meta/time.ts';
import { type ObservedContainer, sandboxName } from '../runtime/runtime.ts';
import { type ContainerReader, createContainerReader } from './cgroups/container-reader.ts';
import { figure, workingSetOf } from './cgroups/figures.ts';
import { physicalDisks, readMachineFigures } from './machine-usage.ts';
import { sumTraffic, type Traffic } from './network.ts';
import { groupRunning, readPodInterfaces } from './pod-network.ts';
import { containerValues, type MachineSample, nodeValues, podValues, rate } from './rates.ts';
import { type ReadSmallFile, readSmallFile } from './small-file.ts';
import { createUsageHistory, type UsageHistory } from './usage-history.ts';

export interface UsageReaderOptions {
  readonly nodeName: string;
  /** The usage of its file system is reported. */
  readonly dataDir: string;
  /** Where /proc and /sys are; "/" but in tests. */
  readonly root?: string | undefined;
  readonly now?: (() => Date) | undefined;
  readonly readFile?: ReadSmallFile | undefined;
  /** May be shared with others that read between two samples. */
  readonly cgroups?: ContainerReader | undefined;
  /** What each sample is added to. */
  readonly history?: UsageHistory | undefined;
}

export interface UsageSample {
  readonly usage: NodeUsage;
  /** Complete but for metadata beyond the name. */
  readonly metrics: NodeMetrics;
}

/**
 * Reads what the machine and its containers use. Rates (CPU, network)
 * are averaged since the sample before and absent from the first one.
 */
export interface UsageReader {
  /** Not concurrently. What cannot be read is absent; it never throws. */
  sample(containers: readonly ObservedContainer[]): Promise<UsageSample>;
}

interface Moment extends MachineSample {
  readonly at: number;
}

/** The counters of a container or a pod at the sample before. */
interface Tracked<T> {
  readonly pid: number | undefined;
  readonly at: number;
  readonly last: T;
}

/** What a sample hands to the next one. */
interface Pass {
  readonly at: number;
  readonly containers: Map<string, Tracked<Float64Array>>;
  readonly pods: Map<string, Tracked<Traffic>>;
}

export function createUsageReader(options: UsageReaderOptions): UsageReader {
  const sampler = new Sampler(options);
  return { sample: (containers) => sampler.sample(containers) };
}

class Sampler {
  readonly #options: UsageReaderOptions;
  readonly #root: string;
  readonly #now: () => Date;
  readonly #readFile: ReadSmallFile;
  readonly #history: UsageHistory;
  readonly #cgroups: ContainerReader;
  #before: Moment | undefined;
  #containers = new Map<string, Tracked<Float64Array>>();
  #pods = new Map<string, Tracked<Traffic>>();

  constructor(options: UsageReaderOptions) {
    this.#options = options;
    this.#root = options.root ?? '/';
    this.#now = options.now ?? (() => new Date());
    this.#readFile = options.readFile ?? readSmallFile;
    this.#history = options.history ?? createUsageHistory();
    this.#cgroups = options.cgroups ?? createContainerReader(this.#root, this.#readFile);
  }

  async sample(containers: readonly ObservedContainer[]): Promise<UsageSample> {
    const moment = this.#now();
    const at = moment.getTime();
    const machine = await readMachineFigures(this.#root, this.#options.dataDir, this.#readFile);
    const current = { at, machine, disks: sumDisks(physicalDisks(this.#root, machine.disks)) };
    const elapsed = this.#before === undefined ? 0 : at - this.#before.at;
    this.#history.begin(at);
    this.#history.add('', nodeValues(current, this.#before, elapsed));
    const pods = this.#readPods(containers, at);
    const usage = nodeUsage(current, this.#before);
    this.#before = current;
    const summary = { ...(usage.cpu && { cpu: usage.cpu }), ...(usage.memory && { memory: usage.memory }) };
    return {
      usage,
      metrics: {
        metadata: { name: this.#options.nodeName },
        timestamp: timestamp(moment),
        window: { seconds: Math.round(elapsed / 1000) },
        usage: summary,
        node: usage,
        pods,
      },
    };
  }

  #readPods(containers: readonly ObservedContainer[], at: number): PodMetrics[] {
    const next: Pass = { at, containers: new Map(), pods: new Map() };
    const pods = [...groupRunning(containers).values()].map((members) => this.#podUsage(members, next));
    this.#containers = next.containers;
    this.#pods = next.pods;
    this.#cgroups.keepOnly(new Set(next.containers.keys()));
    return pods.filter((pod) => pod !== undefined);
  }

  #podUsage(containers: readonly ObservedContainer[], { at, ...next }: Pass): PodMetrics | undefined {
    const first = containers[0];
    if (first === undefined) return undefined;
    const interfaces = readPodInterfaces(this.#root, containers, this.#readFile);
    const network = interfaces && sumTraffic(interfaces);
    if (network !== undefined) {
      const past = this.#pods.get(first.podUid);
      this.#history.add(first.podUid, podValues(network, past?.last, past === undefined ? 0 : at - past.at));
      next.pods.set(first.podUid, { pid: undefined, at, last: network });
    }
    const members = containers.filter((container) => container.containerName !== sandboxName);
    return {
      namespace: first.podNamespace,
      name: first.podName,
      uid: first.podUid,
      containers: members.map((member) => this.#containerUsage(member, { at, ...next })).filter((each) => each !== undefined),
      ...(network && { networkReceiveBytes: network.received, networkTransmitBytes: network.sent }),
    };
  }

  #containerUsage(container: ObservedContainer, next: Pass): ContainerMetrics | undefined {
    const { id, pid } = container;
    const reading = this.#cgroups.read(container, false);
    if (reading === undefined) return undefined;
    const { values } = reading.figures;
    const last = this.#containers.get(id);
    const past = last?.pid === pid ? last : undefined;
    const elapsed = past === undefined ? 0 : next.at - past.at;
    this.#history.add(`${container.podUid}/${container.containerName}`, containerValues(values, past?.last, elapsed));
    next.containers.set(id, { pid, at: next.at, last: values.slice() });
    const cores = past && rate(values[figure.cpuSeconds]!, past.last[figure.cpuSeconds]!, elapsed);
    const set = workingSetOf(reading.figures);
    const usage = {
      ...(cores !== undefined && !Number.isNaN(cores) && { cpu: cpu(cores) }),
      ...(!Number.isNaN(set) && { memory: bytes(set) }),
    };
    return { name: container.containerName, usage };
  }
}

function nodeUsage({ at, machine }: Moment, before: Moment | undefined): NodeUsage {
  const elapsed = before === undefined ? 0 : at - before.at;
  const past = before?.machine;
  const { memory, disk, network } = machine;
  const cores = difference(machine.cpuBusySeconds, past?.cpuBusySeconds, elapsed);
  const received = difference(network.received, past?.network.received, elapsed);
  const sent = difference(network.sent, past?.network.sent, elapsed);
  return {
    timestamp: timestamp(new Date(at)),
    ...(cores !== undefined && { cpu: cpu(cores) }),
    ...(memory && { memory: bytes(memory.total - memory.available) }),
    ...(disk && { disk: bytes(disk.usedBytes), diskCapacity: bytes(disk.sizeBytes) }),
    ...(received !== undefined && { networkReceiveBytesPerSecond: Math.round(received) }),
    ...(sent !== undefined && { networkTransmitBytesPerSecond: Math.round(sent) }),
    ...(machine.load && { load1: machine.load[0], load5: machine.load[1], load15: machine.load[2] }),
    windowSeconds: elapsed / 1000,
  };
}

/** Per second; undefined where it is not known. */
function difference(now: number | undefined, past: number | undefined, elapsedMs: number): number | undefined {
  const found = rate(now ?? Number.NaN, past ?? Number.NaN, elapsedMs);
  return Number.isNaN(found) ? undefined : found;
}

function sumDisks(disks: readonly { readonly readBytes: number; readonly writeBytes: number }[]) {
  let readBytes = 0;
  let writeBytes = 0;
  for (const disk of disks) {
    readBytes += disk.readBytes;
    writeBytes += disk.writeBytes;
  }
  return { readBytes, writeBytes };
}

function cpu(cores: number): Quantity {
  return { string: formatCpu(cores * 1000) };
}

function bytes(amount: number): Quantity {
  return { string: formatMemory(amount) };
}
