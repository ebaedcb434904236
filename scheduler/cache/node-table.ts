import type { Node } from '../../api/generated/types.ts';
import type { Labels } from '../../api/meta/labels.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { PortsInUse } from './host-ports.ts';
import { createImageColumns, type ImageColumn, type Images } from './image-columns.ts';
import { createTopology, type Topology } from './topology/topology.ts';
import type { RecentPlacement } from './usage.ts';

/**
 * The figures kept for every node, one typed array each. CPU in milli-cores, memory and storage in bytes, times in
 * milliseconds of the scheduler's clock, flags 0 or 1.
 */
export const columnNames = [
  'allocatableCpu',
  'allocatableMemory',
  'allocatableStorage',
  'allocatablePods',
  'capacityCpu',
  'capacityMemory',
  /** Sums over the pods on the node, placed ones included. */
  'requestedCpu',
  'requestedMemory',
  'requestedStorage',
  'podCount',
  /** The same with Kubernetes' assumption for pods that ask for nothing. */
  'scoringCpu',
  'scoringMemory',
  /** The node's last reading of itself; `usageAt` is -Infinity when there is none. */
  'usageAt',
  'usageCpu',
  'usageMemory',
  /** Requests of pods that the reading does not show in full yet (see cache/usage.ts). */
  'unsettledCpu',
  'unsettledMemory',
  /** Requested memory of pods placed after the reading arrived. */
  'memorySinceReading',
  'ready',
  'unschedulable',
  'hardTaints',
  'softTaints',
  /** How many host ports the pods on the node take. */
  'hostPorts',
  /** How many PersistentVolumeClaims they use, each pod for itself. */
  'claimUses',
  /** Grows with every change of the node or its pods. */
  'generation',
] as const;
export type ColumnName = (typeof columnNames)[number];

/** Columns whose sum over all rows is kept, so that a plugin can see at once that no node concerns it. */
const summedNames = ['ready', 'unschedulable', 'hardTaints', 'softTaints', 'hostPorts', 'claimUses'] as const;
export type SummedName = (typeof summedNames)[number];

/** An extended resource on every node. */
export interface ExtendedColumns {
  allocatable: Float64Array;
  requested: Float64Array;
}

/** What a row is made of. */
export interface NodeRow {
  readonly name: string;
  readonly node: Node;
  readonly figures: Readonly<Record<ColumnName, number>>;
  readonly extended: ReadonlyMap<string, { readonly allocatable: number; readonly requested: number }>;
  readonly pods: ReadonlyMap<string, PodInfo>;
  /** Those of them that the last reading does not show in full. */
  readonly recent: ReadonlyMap<string, RecentPlacement>;
  /** For each pod that came, left or changed since the row was last written: what it was then. */
  readonly before: ReadonlyMap<string, PodInfo | undefined>;
  readonly hostPorts: PortsInUse;
  /** How many pods use each claim. */
  readonly claims: ReadonlyMap<string, number>;
  readonly images: Images;
  /**
   * Pods for which room is being made there, as far as the attempt's pod has to look out for them;
   * their share is in the figures.
   */
  readonly nominated?: readonly PodInfo[];
}

export type Columns = Record<ColumnName, Float64Array>;

/**
 * All nodes as an attempt sees them, in columns: row i of every array is the same node. Rows are dense (0 to
 * count - 1); a removed node's row is taken by the last. Only the cache writes it, between attempts and only the rows
 * that changed; plugins read.
 */
export interface NodeTable {
  readonly count: number;
  /** Sums over all rows. */
  readonly sums: Readonly<Record<SummedName, number>>;
  readonly columns: Readonly<Columns>;
  readonly names: readonly string[];
  readonly nodes: readonly Node[];
  /** The pods on the node, placed ones included, by uid. */
  readonly pods: readonly ReadonlyMap<string, PodInfo>[];
  /** Those of them that the node's last reading does not show in full. */
  readonly recent: readonly ReadonlyMap<string, RecentPlacement>[];
  /** The host ports that those pods take. */
  readonly hostPorts: readonly PortsInUse[];
  /** The claims that those pods use, and how many pods each. */
  readonly claims: readonly ReadonlyMap<string, number>[];
  /**
   * By node, the pods for which room is being made there and that the attempt's pod has to look out for;
   * not among `pods`.
   */
  readonly nominated: ReadonlyMap<string, readonly PodInfo[]>;
  rowOf(name: string): number | undefined;
  /** Grows with every row that is written. */
  readonly version: number;
  /** The rows that were written after that version, some perhaps twice; undefined when that is too long ago to know. */
  writtenSince(version: number): readonly number[] | undefined;
  /** Undefined when no node ever had the resource. */
  extended(resource: string): Readonly<ExtendedColumns> | undefined;
  /** Where an image is; its name as `imageName` has it. Undefined when no node has it. */
  image(name: string): ImageColumn | undefined;
  /** Where pods are that others speak of. */
  readonly topology: Topology;
}

export interface WritableNodeTable extends NodeTable {
  /** Adds or replaces the node's row. */
  write(row: NodeRow): void;
  remove(row: Pick<NodeRow, 'name' | 'pods' | 'before'>): void;
  /** Undefined when the namespace is gone. */
  setNamespace(name: string, labels: Labels | undefined): void;
}

const firstCapacity = 64;
/**
 * Of so many writes it is known which rows they were: more than the pods of a burst that come between two of one shape.
 */
const rememberedWrites = 1_024;

export function createNodeTable(): WritableNodeTable {
  return new ColumnTable();
}

class ColumnTable implements WritableNodeTable {
  #capacity = firstCapacity;
  readonly columns = {} as Columns;
  readonly #extended = new Map<string, ExtendedColumns>();
  readonly #rows = new Map<string, number>();
  readonly names: string[] = [];
  readonly nodes: Node[] = [];
  readonly pods: ReadonlyMap<string, PodInfo>[] = [];
  readonly recent: ReadonlyMap<string, RecentPlacement>[] = [];
  readonly hostPorts: PortsInUse[] = [];
  readonly claims: ReadonlyMap<string, number>[] = [];
  readonly nominated = new Map<string, readonly PodInfo[]>();
  readonly #images = createImageColumns();
  readonly topology = createTopology((name) => this.#rows.get(name));
  /** A ring: the row that was written as number n is at n % rememberedWrites. */
  readonly #writes = new Int32Array(rememberedWrites);
  #version = 0;
  readonly sums: Record<SummedName, number> = {
    ready: 0,
    unschedulable: 0,
    hardTaints: 0,
    softTaints: 0,
    hostPorts: 0,
    claimUses: 0,
  };

  constructor() {
    for (const name of columnNames) this.columns[name] = new Float64Array(this.#capacity);
  }

  get count(): number {
    return this.names.length;
  }

  setNamespace(name: string, labels: Labels | undefined): void {
    this.topology.setNamespace(name, labels);
  }

  rowOf(name: string): number | undefined {
    return this.#rows.get(name);
  }

  get version(): number {
    return this.#version;
  }

  writtenSince(since: number): readonly number[] | undefined {
    if (this.#version - since > rememberedWrites) return undefined;
    const changed: number[] = [];
    for (let at = since; at < this.#version; at++) {
      const row = this.#writes[at % rememberedWrites]!;
      // A row that is no more.
      if (row < this.names.length) changed.push(row);
    }
    return changed;
  }

  extended(resource: string): Readonly<ExtendedColumns> | undefined {
    return this.#extended.get(resource);
  }

  image(name: string): ImageColumn | undefined {
    return this.#images.get(name, this.#capacity);
  }

  write(written: NodeRow): void {
    const { name, node, figures, extended: extendedFigures, pods: onNode } = written;
    let row = this.#rows.get(name);
    if (row === undefined) {
      row = this.names.length;
      if (row === this.#capacity) this.#grow();
      this.#rows.set(name, row);
    } else this.#takeFromSums(row);
    this.names[row] = name;
    this.nodes[row] = node;
    this.pods[row] = onNode;
    this.recent[row] = written.recent;
    this.hostPorts[row] = written.hostPorts;
    this.claims[row] = written.claims;
    if (written.nominated) this.nominated.set(name, written.nominated);
    else this.nominated.delete(name);
    this.#images.write(row, written.images);
    this.topology.write(row, written);
    for (const column of columnNames) this.columns[column][row] = figures[column];
    for (const column of summedNames) this.sums[column] += figures[column];
    this.#writeExtended(row, extendedFigures);
    this.#noteWrite(row);
  }

  remove(removed: Pick<NodeRow, 'name' | 'pods' | 'before'>): void {
    const { name } = removed;
    const row = this.#rows.get(name);
    if (row === undefined) return;
    this.#takeFromSums(row);
    this.nominated.delete(name);
    const last = this.names.length - 1;
    this.names[row] = this.names[last]!;
    this.nodes[row] = this.nodes[last]!;
    this.pods[row] = this.pods[last]!;
    this.recent[row] = this.recent[last]!;
    this.hostPorts[row] = this.hostPorts[last]!;
    this.claims[row] = this.claims[last]!;
    this.#images.remove(row, last);
    this.topology.remove(row, last, removed);
    for (const array of this.#allArrays()) {
      array[row] = array[last]!;
      array[last] = 0;
    }
    this.#rows.set(this.names[row]!, row);
    this.#rows.delete(name);
    this.names.length =
      this.nodes.length =
      this.pods.length =
      this.recent.length =
      this.hostPorts.length =
      this.claims.length =
        last;
    this.#noteWrite(row);
  }

  *#allArrays(): Iterable<Float64Array> {
    for (const name of columnNames) yield this.columns[name];
    for (const column of this.#extended.values()) yield* [column.allocatable, column.requested];
  }

  #grow(): void {
    this.#capacity *= 2;
    const grown = (from: Float64Array) => {
      const to = new Float64Array(this.#capacity);
      to.set(from);
      return to;
    };
    for (const name of columnNames) this.columns[name] = grown(this.columns[name]);
    for (const column of this.#extended.values()) {
      column.allocatable = grown(column.allocatable);
      column.requested = grown(column.requested);
    }
    this.#images.grow(grown);
  }

  #noteWrite(row: number): void {
    this.#writes[this.#version % rememberedWrites] = row;
    this.#version += 1;
  }

  #takeFromSums(row: number): void {
    for (const name of summedNames) this.sums[name] -= this.columns[name][row]!;
  }

  #writeExtended(row: number, figures: NodeRow['extended']): void {
    for (const name of figures.keys())
      if (!this.#extended.has(name))
        this.#extended.set(name, { allocatable: new Float64Array(this.#capacity), requested: new Float64Array(this.#capacity) });
    for (const [name, column] of this.#extended) {
      column.allocatable[row] = figures.get(name)?.allocatable ?? 0;
      column.requested[row] = figures.get(name)?.requested ?? 0;
    }
  }
}
