import { addPorts, type PortsByKey, removePorts } from '../cache/host-ports.ts';
import { countUses } from '../cache/node-record.ts';
import type { ColumnName, NodeTable } from '../cache/node-table.ts';
import { creditRate, isAfterReading } from '../cache/usage.ts';
import { rejectionOn } from './beside-nominated.ts';
import type { AnyPlugin, Rejection, Trial } from './plugin.ts';
import { guard } from './plugin-fault.ts';
import type { PodInfo } from './pod-info.ts';

/**
 * What filters read of the pods on a node. Sums are put back as they were, not computed back: fractions would drift.
 */
const changed = [
  'requestedCpu',
  'requestedMemory',
  'requestedStorage',
  'podCount',
  'hostPorts',
  'claimUses',
  'usageMemory',
  'memorySinceReading',
] as const satisfies readonly ColumnName[];

/** A plugin with what it prepared. */
export interface TrialFilter {
  readonly plugin: AnyPlugin;
  readonly state: unknown;
  /** See Proceed. */
  readonly shape?: string | undefined;
}

/** A trial as the runner has it: after a plugin that did not end it, `close` does. */
export interface OpenTrial extends Trial {
  close(): void;
}

export function createTrial(filters: readonly TrialFilter[], nodes: NodeTable): OpenTrial {
  const { columns } = nodes;
  const saved = new Float64Array(changed.length);
  const taken = new Set<PodInfo>();
  const rejections = new Map<Rejection, string>();
  const followers = filters.filter(({ plugin }) => plugin.withPod !== undefined);
  let at = 0;
  let rate = 0;
  let isOpen = false;

  function move(pod: PodInfo, sign: 1 | -1): void {
    addToRow(nodes, at, pod, sign);
    addUse(pod, sign);
    for (const { plugin, state } of followers)
      guard(plugin, 'withPod', () => plugin.withPod!(state, { nodes, row: at, pod, sign }));
  }

  /** The pod's part of what the node reports; of a pod that the reading does not show, what was added for it. */
  function addUse({ uid, requests, scoringMemory }: PodInfo, sign: 1 | -1): void {
    if (isAfterReading(nodes.recent[at]!, uid, columns.usageAt[at]!)) columns.memorySinceReading[at]! += sign * requests.memory;
    else columns.usageMemory[at]! += sign * rate * scoringMemory;
  }

  function end(): void {
    for (const pod of taken) move(pod, 1);
    taken.clear();
    for (let i = 0; i < changed.length; i++) columns[changed[i]!][at] = saved[i]!;
    isOpen = false;
  }

  return {
    shape: shapeOf(filters),
    rejections,
    begin(row) {
      isOpen = true;
      at = row;
      rate = memoryRate(nodes, row);
      for (let i = 0; i < changed.length; i++) saved[i] = columns[changed[i]!][row]!;
    },
    take(pod) {
      taken.add(pod);
      move(pod, -1);
    },
    put(pod) {
      taken.delete(pod);
      move(pod, 1);
    },
    fits() {
      let passes = true;
      for (let i = 0; i < filters.length; i++) {
        const filter = filters[i]!;
        const rejection = guard(filter.plugin, 'filter', () => rejectionOn(filter, nodes, at));
        if (rejection === undefined) continue;
        passes = false;
        rejections.set(rejection, filter.plugin.name);
      }
      return passes;
    },
    end,
    close() {
      if (isOpen) end();
    },
  };
}

function memoryRate({ columns, recent }: NodeTable, row: number): number {
  const shares = {
    usageAt: columns.usageAt[row]!,
    used: columns.usageMemory[row]!,
    system: columns.capacityMemory[row]! - columns.allocatableMemory[row]!,
    requested: columns.scoringMemory[row]!,
    recent: recent[row]!,
  };
  return creditRate(shares, ({ scoringMemory }) => scoringMemory);
}

function shapeOf(filters: readonly TrialFilter[]): string | undefined {
  if (filters.some(({ shape }) => shape === undefined)) return undefined;
  return filters.map(({ plugin, shape }) => `${plugin.name} ${shape}`).join('\n');
}

function addToRow(nodes: NodeTable, row: number, pod: PodInfo, sign: 1 | -1): void {
  const { columns } = nodes;
  columns.requestedCpu[row]! += sign * pod.requests.cpuMilli;
  columns.requestedMemory[row]! += sign * pod.requests.memory;
  columns.requestedStorage[row]! += sign * pod.requests.ephemeralStorage;
  columns.podCount[row]! += sign;
  for (const [name, amount] of pod.requests.extended) {
    const column = nodes.extended(name);
    if (column) column.requested[row]! += sign * amount;
  }
  if (pod.hostPorts.length > 0) movePorts(nodes, row, pod, sign);
  if (pod.claims.length > 0) moveClaims(nodes, row, pod, sign);
}

function movePorts({ columns, hostPorts }: NodeTable, row: number, pod: PodInfo, sign: 1 | -1): void {
  columns.hostPorts[row]! += sign * pod.hostPorts.length;
  const move = sign === 1 ? addPorts : removePorts;
  move(hostPorts[row] as PortsByKey, pod.hostPorts);
}

function moveClaims({ columns, claims }: NodeTable, row: number, pod: PodInfo, sign: 1 | -1): void {
  columns.claimUses[row]! += sign * pod.claims.length;
  countUses(claims[row] as Map<string, number>, pod.claims, sign);
}
