import type { Node } from '../../generated/types.ts';
import { findCondition } from '../../meta/conditions.ts';
import { labels } from '../../meta/well-known.ts';
import { ageColumn, NONE, nameColumn, UNKNOWN } from '../cells.ts';
import type { Column } from '../kind.ts';
import { cpuCell, memoryCell } from '../usage-cells.ts';

/** "Ready", "NotReady" or "Unknown", and whether new pods may come. */
export function nodeStatusCell(node: Node): string {
  const ready = findCondition(node.status?.conditions, 'Ready');
  const state = !ready ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return node.spec?.unschedulable ? `${state},SchedulingDisabled` : state;
}

/** The roles that labels name, sorted. */
export function nodeRolesCell(node: Node): string {
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(node.metadata?.labels ?? {})) {
    if (key.startsWith(labels.nodeRolePrefix)) roles.add(key.slice(labels.nodeRolePrefix.length));
    else if (key === labels.nodeRole && value !== '') roles.add(value);
  }
  return [...roles].sort().filter(Boolean).join(',') || NONE;
}

function addressCell(node: Node, type: string): string {
  return node.status?.addresses?.find((address) => address.type === type)?.address || NONE;
}

const text = (name: string, priority: 0 | 1, cell: (node: Node) => string): Column<Node> => ({
  name,
  type: 'string',
  priority,
  cell,
});

export const nodeColumns: readonly Column<Node>[] = [
  nameColumn,
  text('STATUS', 0, nodeStatusCell),
  text('ROLES', 0, nodeRolesCell),
  ageColumn,
  text('VERSION', 0, (node) => node.status?.nodeInfo?.kubeletVersion ?? ''),
  text('INTERNAL-IP', 1, (node) => addressCell(node, 'InternalIP')),
  text('EXTERNAL-IP', 1, (node) => addressCell(node, 'ExternalIP')),
  text('OS-IMAGE', 1, (node) => node.status?.nodeInfo?.osImage || UNKNOWN),
  text('KERNEL-VERSION', 1, (node) => node.status?.nodeInfo?.kernelVersion || UNKNOWN),
  text('CONTAINER-RUNTIME', 1, (node) => node.status?.nodeInfo?.containerRuntimeVersion || UNKNOWN),
  text('CPU', 1, (node) => cpuCell(node.status?.usage?.cpu)),
  text('MEMORY', 1, (node) => memoryCell(node.status?.usage?.memory)),
];
