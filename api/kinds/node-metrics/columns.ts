import type { NodeMetrics } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';
import { cpuCell, memoryCell } from '../usage-cells.ts';

export const nodeMetricsColumns: readonly Column<NodeMetrics>[] = [
  nameColumn,
  textColumn('CPU', (metrics) => cpuCell(metrics.usage?.cpu ?? metrics.node?.cpu)),
  textColumn('MEMORY', (metrics) => memoryCell(metrics.usage?.memory ?? metrics.node?.memory)),
  { name: 'PODS', type: 'integer', priority: 0, cell: (metrics) => String(metrics.pods?.length ?? 0) },
  ageColumn,
];
