import type { NodeTable } from '../cache/node-table.ts';
import type { AnyPlugin, Rejection } from './plugin.ts';
import { guard } from './plugin-fault.ts';

/** A plugin that filters, with what it prepared. */
interface Filter {
  readonly plugin: AnyPlugin;
  readonly state: unknown;
}

/**
 * What the filter says of the node as it is and, if it lets the pod through, as it will be with the pods that are
 * nominated to it: Kubernetes' two looks. As it is, because the pods for which room is being made may never come, and
 * one that wants them near would wait in vain.
 */
export function rejectionOn(filter: Filter, nodes: NodeTable, row: number): Rejection | undefined {
  const { plugin, state } = filter;
  return plugin.filter!(state, nodes, row) ?? rejectionBeside(filter, nodes, row);
}

/**
 * The second look alone. Sums have the nominated pods in them already (`withNominated`), so only filters that follow
 * single pods are asked. As in Kubernetes a nominated pod is seen on its own node and not on others of the same zone.
 */
export function rejectionBeside({ plugin, state }: Filter, nodes: NodeTable, row: number): Rejection | undefined {
  const pods = nodes.nominated.size > 0 && plugin.withPod ? nodes.nominated.get(nodes.names[row]!) : undefined;
  if (!pods) return undefined;
  for (const pod of pods) plugin.withPod!(state, { nodes, row, pod, sign: 1 });
  const rejection = plugin.filter!(state, nodes, row);
  for (const pod of pods) plugin.withPod!(state, { nodes, row, pod, sign: -1 });
  return rejection;
}

/** Moves the rows that pass the second look too to the front, and says how many they are. */
export function keepBesideNominated(
  filters: readonly (Filter & { readonly filters: boolean })[],
  nodes: NodeTable,
  rows: Int32Array,
): number {
  if (nodes.nominated.size === 0) return rows.length;
  let kept = 0;
  for (const row of rows)
    if (
      filters.every(
        (filter) => !filter.filters || guard(filter.plugin, 'filter', () => rejectionBeside(filter, nodes, row)) === undefined,
      )
    )
      rows[kept++] = row;
  return kept;
}
