import type { Node, NodeMetrics, Quantity, Timestamp } from '../../api/generated/types.ts';
import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';
import { compareTimestamps } from '../../api/meta/time.ts';
import {
  cpuText,
  memoryText,
  orderUsage,
  percentText,
  readUsage,
  type SortColumn,
  staleAge,
  staleText,
  type TopTable,
} from './usage.ts';

export interface TopNodesOptions {
  readonly sortBy?: SortColumn | undefined;
  /** Percentages of all that the machine has, not of what pods may have. */
  readonly showCapacity?: boolean | undefined;
  readonly nowMs: number;
}

/** What each node uses: of its two reports (Node.status.usage, NodeMetrics) the newer one. Pure. */
export function computeTopNodes(nodes: readonly Node[], metrics: readonly NodeMetrics[], options: TopNodesOptions): TopTable {
  const byName = new Map(metrics.map((each) => [each.metadata?.name, each]));
  const warnings: string[] = [];
  const items = nodes.map((node) => {
    const key = node.metadata?.name ?? '';
    const { figures, at } = newestFigures(node, byName.get(key));
    const age = staleAge(at, options.nowMs);
    if (figures === undefined)
      warnings.push(`node "${key}" has not reported what it uses yet; agents do so a few seconds after they start`);
    else if (age !== undefined) warnings.push(staleText(key, age));
    const total = (options.showCapacity ? node.status?.capacity : node.status?.allocatable) ?? {};
    return { key, usage: readUsage(figures), total };
  });
  const rows = orderUsage(items, options.sortBy).map(({ key, usage, total }) => [
    key,
    cpuText(usage.cpu),
    percentText(usage.cpu, quantityMilli(total.cpu)),
    memoryText(usage.memory),
    percentText(usage.memory, quantityValue(total.memory)),
  ]);
  return { headings: ['NAME', 'CPU(cores)', 'CPU(%)', 'MEMORY(bytes)', 'MEMORY(%)'], rows, warnings };
}

interface Figures {
  readonly figures: { readonly cpu?: Quantity; readonly memory?: Quantity } | undefined;
  readonly at: Timestamp | undefined;
}

/** The report that was read last, whichever of the two it is. */
export function newestFigures(node: Node, metrics: NodeMetrics | undefined): Figures {
  const own: Figures = { figures: node.status?.usage, at: node.status?.usage?.timestamp };
  const measured: Figures = { figures: metrics?.usage, at: metrics?.timestamp };
  if (measured.figures === undefined) return own;
  if (own.figures === undefined) return measured;
  return compareTimestamps(own.at, measured.at) > 0 ? own : measured;
}
