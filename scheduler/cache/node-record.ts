import type { Node, Quantity, Taint } from '../../api/generated/types.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { addPorts, copyPorts, type PortsByKey, removePorts } from './host-ports.ts';
import { type Images, imagesOf } from './image-columns.ts';
import { type ColumnName, columnNames, type NodeRow } from './node-table.ts';
import { creditRate, isAfterReading, isSettled, nextReading, type Reading, type RecentPlacement } from './usage.ts';

type Figures = Record<ColumnName, number>;
type Extended = Map<string, { allocatable: number; requested: number }>;

/** A node and its pods with all sums kept as they change. The node is absent while only its pods are known. */
export interface NodeRecord {
  readonly name: string;
  node: Node | undefined;
  reading: Reading | undefined;
  readonly pods: Map<string, PodInfo>;
  /** For each pod that came, left or changed since the table was last told: what the table knows of it. */
  readonly before: Map<string, PodInfo | undefined>;
  /** Those of the pods that the last reading does not show in full. */
  readonly recent: Map<string, RecentPlacement>;
  /** What pods used that have left since the last reading. */
  readonly credit: { cpu: number; memory: number };
  readonly figures: Figures;
  readonly extended: Extended;
  readonly hostPorts: PortsByKey;
  readonly claims: Map<string, number>;
  images: Images;
}

export function createNodeRecord(name: string): NodeRecord {
  const figures = Object.fromEntries(columnNames.map((column) => [column, 0])) as Figures;
  figures.usageAt = Number.NEGATIVE_INFINITY;
  return {
    name,
    node: undefined,
    reading: undefined,
    pods: new Map(),
    before: new Map(),
    recent: new Map(),
    credit: { cpu: 0, memory: 0 },
    figures,
    extended: new Map(),
    hostPorts: new Map(),
    claims: new Map(),
    images: new Map(),
  };
}

export function rowOf(record: NodeRecord, node: Node): NodeRow {
  const { name, figures, extended, pods, recent, before, hostPorts, claims, images } = record;
  return { name, node, figures, extended, pods, recent, before, hostPorts, claims, images };
}

/** A copy that goes its own way; of which no table knows anything. */
export function copyRecord(record: NodeRecord): NodeRecord {
  return {
    ...record,
    pods: new Map(record.pods),
    before: new Map(),
    recent: new Map(record.recent),
    credit: { ...record.credit },
    figures: { ...record.figures },
    extended: new Map([...record.extended].map(([name, amounts]) => [name, { ...amounts }])),
    hostPorts: copyPorts(record.hostPorts),
    claims: new Map(record.claims),
  };
}

/** `placedAt`: when the pod came to the node, on the scheduler's clock. */
export function addPod(record: NodeRecord, pod: PodInfo, time: { readonly placedAt: number; readonly now: number }): void {
  remember(record, pod.uid);
  record.pods.set(pod.uid, pod);
  record.recent.set(pod.uid, { pod, at: time.placedAt });
  addSums(record, pod, 1);
  addPorts(record.hostPorts, pod.hostPorts);
  refreshRecent(record, time.now);
}

export function removePod(record: NodeRecord, uid: string, now: number): void {
  const pod = record.pods.get(uid);
  if (!pod) return;
  remember(record, uid);
  record.pods.delete(uid);
  if (record.before.get(uid) === undefined) record.before.delete(uid);
  record.recent.delete(uid);
  addSums(record, pod, -1);
  removePorts(record.hostPorts, pod.hostPorts);
  refreshRecent(record, now);
}

/** Call before a pod that ran is removed: what it used is free at once, not only when the node reports again. */
export function creditUse(record: NodeRecord, pod: PodInfo): void {
  const { reading, recent, figures, credit } = record;
  if (!reading || isAfterReading(recent, pod.uid, reading.arrivedAt)) return;
  const { usageAt } = figures;
  const cpu = { usageAt, recent, used: figures.usageCpu, system: figures.capacityCpu - figures.allocatableCpu };
  const memory = { usageAt, recent, used: figures.usageMemory, system: figures.capacityMemory - figures.allocatableMemory };
  credit.cpu +=
    pod.scoringCpuMilli * creditRate({ ...cpu, requested: figures.scoringCpu }, ({ scoringCpuMilli }) => scoringCpuMilli);
  credit.memory +=
    pod.scoringMemory * creditRate({ ...memory, requested: figures.scoringMemory }, ({ scoringMemory }) => scoringMemory);
  writeUsage(record);
}

function writeUsage({ figures, reading, credit }: NodeRecord): void {
  figures.usageAt = reading?.arrivedAt ?? Number.NEGATIVE_INFINITY;
  figures.usageCpu = Math.max(0, (reading?.cpuMilli ?? 0) - credit.cpu);
  figures.usageMemory = Math.max(0, (reading?.memory ?? 0) - credit.memory);
}

/** Keeps what the table knows of the pod; of one that came and left since, it knows nothing and need not. */
function remember({ before, pods }: NodeRecord, uid: string): void {
  if (!before.has(uid)) before.set(uid, pods.get(uid));
}

/** Puts the node's own figures in place of the former; its pods and their sums stay. */
export function setNode(record: NodeRecord, node: Node, now: number): void {
  record.images = imagesOf(node, record.node, record.images);
  record.node = node;
  const allocatable = node.status?.allocatable ?? {};
  const capacity = node.status?.capacity ?? allocatable;
  const taints = node.spec?.taints ?? [];
  const flag = (value: boolean) => (value ? 1 : 0);
  Object.assign(record.figures, {
    allocatableCpu: milli(allocatable.cpu),
    allocatableMemory: value(allocatable.memory),
    allocatableStorage: value(allocatable['ephemeral-storage']),
    allocatablePods: value(allocatable.pods),
    capacityCpu: milli(capacity.cpu),
    capacityMemory: value(capacity.memory),
    ready: flag(isReady(node)),
    unschedulable: flag(node.spec?.unschedulable === true),
    hardTaints: flag(taints.some(isHard)),
    softTaints: flag(taints.some((taint) => taint.effect === 'PreferNoSchedule')),
  } satisfies Partial<Figures>);
  setExtendedAllocatable(record.extended, allocatable);
  const reading = nextReading(node, record.reading, now);
  if (reading !== record.reading) Object.assign(record.credit, { cpu: 0, memory: 0 });
  record.reading = reading;
  writeUsage(record);
  refreshRecent(record, now);
}

export function isReady(node: Node): boolean {
  return isConditionTrue(node.status?.conditions, 'Ready');
}

/** Taints that keep a pod away, as opposed to those that only ask to. */
export function isHard(taint: Taint): boolean {
  return taint.effect === 'NoSchedule' || taint.effect === 'NoExecute';
}

function addSums(record: NodeRecord, pod: PodInfo, sign: 1 | -1): void {
  const { figures, extended } = record;
  figures.requestedCpu += sign * pod.requests.cpuMilli;
  figures.requestedMemory += sign * pod.requests.memory;
  figures.requestedStorage += sign * pod.requests.ephemeralStorage;
  figures.podCount += sign;
  figures.hostPorts += sign * pod.hostPorts.length;
  figures.claimUses += sign * pod.claims.length;
  countUses(record.claims, pod.claims, sign);
  figures.scoringCpu += sign * pod.scoringCpuMilli;
  figures.scoringMemory += sign * pod.scoringMemory;
  for (const [name, amount] of pod.requests.extended) {
    const entry = extended.get(name) ?? { allocatable: 0, requested: 0 };
    entry.requested += sign * amount;
    extended.set(name, entry);
  }
}

/** A pod that uses these claims came, or left. */
export function countUses(users: Map<string, number>, claims: readonly string[], sign: 1 | -1): void {
  for (const claim of claims) {
    const next = (users.get(claim) ?? 0) + sign;
    if (next > 0) users.set(claim, next);
    else users.delete(claim);
  }
}

const ownColumns: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage', 'pods']);

function setExtendedAllocatable(extended: Extended, allocatable: Readonly<Record<string, Quantity>>): void {
  for (const entry of extended.values()) entry.allocatable = 0;
  for (const [name, quantity] of Object.entries(allocatable)) {
    if (ownColumns.has(name)) continue;
    extended.set(name, { allocatable: value(quantity), requested: extended.get(name)?.requested ?? 0 });
  }
}

function refreshRecent(record: NodeRecord, now: number): void {
  let cpu = 0;
  let memory = 0;
  let memorySinceReading = 0;
  for (const [uid, placement] of record.recent) {
    if (isSettled(placement, record.reading, now)) {
      record.recent.delete(uid);
      continue;
    }
    cpu += placement.pod.scoringCpuMilli;
    memory += placement.pod.scoringMemory;
    if (record.reading && placement.at > record.reading.arrivedAt) memorySinceReading += placement.pod.requests.memory;
  }
  record.figures.unsettledCpu = cpu;
  record.figures.unsettledMemory = memory;
  record.figures.memorySinceReading = memorySinceReading;
}

const milli = (quantity: Quantity | undefined): number => (quantity ? quantityMilli(quantity) : 0);
const value = (quantity: Quantity | undefined): number => (quantity ? quantityValue(quantity) : 0);
