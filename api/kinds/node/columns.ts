import type { Node } from '../../generated/types.ts';
import { findCondition } from '../../meta/conditions.ts';
import { labels } from '../../meta/well-known.ts';
import { ageColumn, NONE, nameColumn, textColumn, UNKNOWN } from '../cells.ts';
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

export const nodeColumns: readonly Column<Node>[] = [
  nameColumn,
  textColumn('STATUS', nodeStatusCell),
  textColumn('ROLES', nodeRolesCell),
  ageColumn,
  textColumn('VERSION', (node) => node.status?.nodeInfo?.kubeletVersion ?? ''),
  textColumn('INTERNAL-IP', (node) => addressCell(node, 'InternalIP'), 1),
  textColumn('EXTERNAL-IP', (node) => addressCell(node, 'ExternalIP'), 1),
  textColumn('OS-IMAGE', (node) => node.status?.nodeInfo?.osImage || UNKNOWN, 1),
  textColumn('KERNEL-VERSION', (node) => node.status?.nodeInfo?.kernelVersion || UNKNOWN, 1),
  textColumn('CONTAINER-RUNTIME', (node) => node.status?.nodeInfo?.containerRuntimeVersion || UNKNOWN, 1),
  textColumn('CPU', (node) => cpuCell(node.status?.usage?.cpu), 1),
  textColumn('MEMORY', (node) => memoryCell(node.status?.usage?.memory), 1),
];
