import type { NodeMetrics } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';
import { cpuCell, memoryCell } from '../usage-cells.ts';

export const nodeMetricsColumns: readonly Column<NodeMetrics>[] = [
  nameColumn,
  { name: 'CPU', type: 'string', priority: 0, cell: (metrics) => cpuCell(metrics.usage?.cpu ?? metrics.node?.cpu) },
  { name: 'MEMORY', type: 'string', priority: 0, cell: (metrics) => memoryCell(metrics.usage?.memory ?? metrics.node?.memory) },
  { name: 'PODS', type: 'integer', priority: 0, cell: (metrics) => String(metrics.pods?.length ?? 0) },
  ageColumn,
];
