import type { MetricDefinition } from '../../../api/metrics/index.ts';
import { figure, workingSetOf } from '../cgroups/figures.ts';
import type { MachineFigures } from '../machine-usage.ts';
import type { InterfaceCounters } from '../network.ts';
import type { Disk } from '../parse.ts';
import { cadvisorMetrics as metrics } from './cadvisor-metrics.ts';
import { ExpositionPage, labelsText } from './page.ts';
import type { ContainerSnapshot, PodSnapshot } from './snapshot.ts';

type OfContainer = Pick<ContainerSnapshot, 'values'>;
type Simple = readonly [definition: MetricDefinition, read: (of: OfContainer) => number, extraLabels?: string];

const at =
  (position: number) =>
  ({ values }: OfContainer): number =>
    values[position]!;
/** Known, but meaningless without a limit of processor time. */
const withQuota =
  (position: number) =>
  ({ values }: OfContainer): number =>
    Number.isNaN(values[figure.cpuQuota]!) ? Number.NaN : values[position]!;

/** One number a container. */
const simple: readonly Simple[] = [
  [metrics.cpuUsage, at(figure.cpuSeconds), ',cpu="total"'],
  [metrics.cpuUser, at(figure.cpuUserSeconds)],
  [metrics.cpuSystem, at(figure.cpuSystemSeconds)],
  [metrics.cpuPeriods, withQuota(figure.cpuPeriods)],
  [metrics.cpuThrottledPeriods, withQuota(figure.cpuThrottledPeriods)],
  [metrics.cpuThrottled, withQuota(figure.cpuThrottledSeconds)],
  [metrics.memoryUsage, at(figure.memoryUsage)],
  [metrics.memoryWorkingSet, workingSetOf],
  [metrics.memoryPeak, at(figure.memoryPeak)],
  [metrics.memoryCache, at(figure.memoryCache)],
  [metrics.memoryRss, at(figure.memoryRss)],
  [metrics.memorySwap, at(figure.memorySwap)],
  [metrics.memoryMapped, at(figure.memoryMapped)],
  [metrics.memoryKernel, at(figure.memoryKernel)],
  [metrics.memoryActiveFile, at(figure.memoryActiveFile)],
  [metrics.memoryInactiveFile, at(figure.memoryInactiveFile)],
  [metrics.memoryFailures, at(figure.memoryFailures)],
  [metrics.oomEvents, at(figure.oomKills)],
  [metrics.processes, at(figure.processes)],
  [metrics.threads, at(figure.threads)],
  [metrics.threadsMax, at(figure.threadsLimit)],
  [metrics.cpuWaiting, at(figure.cpuWaitingSeconds)],
  [metrics.cpuStalled, at(figure.cpuStalledSeconds)],
  [metrics.memoryWaiting, at(figure.memoryWaitingSeconds)],
  [metrics.memoryStalled, at(figure.memoryStalledSeconds)],
  [metrics.ioWaiting, at(figure.ioWaitingSeconds)],
  [metrics.ioStalled, at(figure.ioStalledSeconds)],
  [metrics.specShares, at(figure.cpuShares)],
  [metrics.specQuota, at(figure.cpuQuota)],
  [metrics.specPeriod, at(figure.cpuPeriod)],
  [metrics.specMemoryLimit, at(figure.memoryLimit)],
  [metrics.specSwapLimit, at(figure.memorySwapLimit)],
  [metrics.specReservation, at(figure.memoryReservation)],
];

const interfaceFigures: readonly (readonly [MetricDefinition, (counters: InterfaceCounters) => number])[] = [
  [metrics.networkReceiveBytes, (each) => each.receivedBytes],
  [metrics.networkReceivePackets, (each) => each.receivedPackets],
  [metrics.networkReceiveErrors, (each) => each.receiveErrors],
  [metrics.networkReceiveDropped, (each) => each.receiveDropped],
  [metrics.networkTransmitBytes, (each) => each.sentBytes],
  [metrics.networkTransmitPackets, (each) => each.sentPackets],
  [metrics.networkTransmitErrors, (each) => each.transmitErrors],
  [metrics.networkTransmitDropped, (each) => each.transmitDropped],
];

export interface CadvisorInput {
  readonly machine: MachineFigures;
  /** The machine as if it were a container: what cAdvisor calls "/". */
  readonly whole: Float64Array;
  /** The machine's own disks. */
  readonly disks: readonly Disk[];
  /** The device that the agent's data are on, "8:1". */
  readonly dataDevice: string | undefined;
  readonly pods: readonly PodSnapshot[];
  readonly nowMs: number;
}

/** The labels of the machine as a whole. */
const wholeLabels = labelsText({ container: '', id: '/', image: '', name: '', namespace: '', pod: '' });

/** The page /metrics/cadvisor. Pure. */
export function cadvisorPage(input: CadvisorInput): string {
  const page = new ExpositionPage();
  const containers = input.pods.flatMap((pod) => pod.containers);
  const all = [{ values: input.whole, labels: wholeLabels }, ...containers];
  for (const [definition, read, extra = ''] of simple)
    page.family(
      definition,
      all.map((each) => [each.labels + extra, read(each)] as const),
    );
  page.family(metrics.pageFaults, pageFaults(all));
  addDisks(page, input, containers);
  addFileSystems(page, input, containers);
  for (const [definition, read] of interfaceFigures) page.family(definition, interfaces(input, read));
  page.family(
    metrics.startTime,
    containers.map(({ labels, container }) => [labels, (container.startedAt?.getTime() ?? Number.NaN) / 1000] as const),
  );
  page.family(
    metrics.lastSeen,
    all.map(({ labels }) => [labels, Math.floor(input.nowMs / 1000)] as const),
  );
  const { memory, cores } = input.machine;
  page.family(metrics.cores, [['', cores === 0 ? Number.NaN : cores]]);
  page.family(metrics.memory, [['', memory?.total ?? Number.NaN]]);
  page.family(metrics.swap, [['', memory?.swapTotal ?? Number.NaN]]);
  return page.text();
}

type Samples = Generator<readonly [string, number]>;

function* pageFaults(all: readonly (OfContainer & { readonly labels: string })[]): Samples {
  for (const { labels, values } of all) {
    yield [`${labels},failure_type="pgfault",scope="hierarchy"`, values[figure.pageFaults]!];
    yield [`${labels},failure_type="pgmajfault",scope="hierarchy"`, values[figure.majorPageFaults]!];
  }
}

function* interfaces({ machine, pods }: CadvisorInput, read: (counters: InterfaceCounters) => number): Samples {
  for (const each of machine.interfaces) yield [`${wholeLabels},interface="${each.name}"`, read(each)];
  for (const pod of pods) for (const each of pod.interfaces) yield [`${pod.labels},interface="${each.name}"`, read(each)];
}

interface DeviceRow {
  readonly labels: string;
  readonly device: string;
  readonly readBytes: number;
  readonly writeBytes: number;
  readonly reads: number;
  readonly writes: number;
}

function addDisks(page: ExpositionPage, { disks, machine }: CadvisorInput, containers: readonly ContainerSnapshot[]): void {
  const rows: DeviceRow[] = disks.map((disk) => ({ ...disk, labels: wholeLabels }));
  for (const { labels, devices } of containers) for (const device of devices) rows.push({ ...device, labels });
  const named = rows.map((row) => ({ ...row, name: deviceLabel(machine.disks, row.device) }));
  const of = (read: (row: DeviceRow) => number) => named.map((row) => [`${row.labels},${row.name}`, read(row)] as const);
  page.family(
    metrics.fsReadBytes,
    of((row) => row.readBytes),
  );
  page.family(
    metrics.fsWriteBytes,
    of((row) => row.writeBytes),
  );
  page.family(
    metrics.fsReads,
    of((row) => row.reads),
  );
  page.family(
    metrics.fsWrites,
    of((row) => row.writes),
  );
  page.family(
    metrics.blockUsage,
    named.flatMap(({ labels, name, device, readBytes, writeBytes }) => {
      const [major, minor] = device.split(':');
      const start = `${labels},${name},major="${major}",minor="${minor}",operation=`;
      return [[`${start}"Read"`, readBytes] as const, [`${start}"Write"`, writeBytes] as const];
    }),
  );
}

function addFileSystems(page: ExpositionPage, input: CadvisorInput, containers: readonly ContainerSnapshot[]): void {
  const { machine, dataDevice } = input;
  const device = deviceLabel(machine.disks, dataDevice);
  const whole = `${wholeLabels},${device}`;
  const { usedBytes, sizeBytes, files, filesFree } = machine.disk ?? unknownDisk;
  page.family(metrics.fsUsage, [
    [whole, usedBytes],
    ...containers.map(({ labels, layer }) => [`${labels},${device}`, layer?.bytes ?? Number.NaN] as const),
  ]);
  page.family(metrics.fsLimit, [[whole, sizeBytes]]);
  page.family(metrics.fsFiles, [[whole, files]]);
  page.family(metrics.fsFilesFree, [[whole, filesFree]]);
  page.family(
    metrics.logUsage,
    containers.map(({ container: { podUid: uid, podNamespace: namespace, podName: pod, containerName: container }, log }) => [
      labelsText({ uid, namespace, pod, container }),
      log?.bytes ?? Number.NaN,
    ]),
  );
}

const unknownDisk = { usedBytes: Number.NaN, sizeBytes: Number.NaN, files: Number.NaN, filesFree: Number.NaN };

/** `device="/dev/vda"`; empty where the number has no name here. */
function deviceLabel(disks: readonly Disk[], device: string | undefined): string {
  const name = disks.find((disk) => disk.device === device)?.name;
  return `device="${name === undefined ? '' : `/dev/${name}`}"`;
}
