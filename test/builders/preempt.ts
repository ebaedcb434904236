import type { Node, Pod, PodDisruptionBudget } from '../../api/generated/types.ts';
import { columnNames, type NodeTable } from '../../scheduler/cache/node-table.ts';
import { podInfo } from '../../scheduler/framework/pod-info.ts';
import { createRunner, type Decision } from '../../scheduler/framework/runner.ts';
import { defaultProfile } from '../../scheduler/profile.ts';
import { nodeTable } from './node-table.ts';

export interface PreemptScene {
  readonly nodes: readonly Node[];
  /** Bound pods. */
  readonly pods: readonly Pod[];
  readonly budgets?: readonly PodDisruptionBudget[];
  readonly nominatedTo?: string;
  /** Uids of pods that the scheduler is deleting. */
  readonly leaving?: readonly string[];
}

export interface Preempted {
  readonly decision: Decision;
  /** "node: victims", the most important first; undefined when no room is made. */
  readonly chosen: string | undefined;
  /** Every figure of the table, before and after the attempt. */
  readonly before: object;
  readonly after: object;
}

/** One attempt of the default profile at a pod. */
export function preempt(pod: Pod, { nodes, pods, budgets = [], nominatedTo, leaving = [] }: PreemptScene): Preempted {
  const table = nodeTable(nodes, pods);
  const before = figuresOf(table);
  const preemption = { budgets: { list: () => [...budgets] }, isLeaving: (uid: string) => leaving.includes(uid) };
  const profile = defaultProfile({ name: 'Bind' }, undefined, { preemption });
  const runner = createRunner({ profile, random: () => 0 });
  const attempt = { pod: podInfo(pod), nodes: table, now: Date.UTC(2026, 0, 1), nominatedNodeName: nominatedTo };
  const decision = runner.decide(attempt);
  const room = decision.kind === 'unschedulable' ? decision.room : undefined;
  const names = room?.victims.map((victim) => victim.pod.metadata?.name).join(' ');
  return { decision, chosen: room && `${room.nominatedNodeName}: ${names}`, before, after: figuresOf(table) };
}

function figuresOf(table: NodeTable): object {
  const rows = (column: Float64Array) => Array.from(column.slice(0, table.count));
  const columns = Object.fromEntries(columnNames.map((name) => [name, rows(table.columns[name])]));
  const extended = rows(table.extended('example.com/gpu')?.requested ?? new Float64Array(0));
  return structuredClone({ columns, extended, hostPorts: table.hostPorts, claims: table.claims });
}
