import type { Pod } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';
import { podReadyCell, podRestartsCell, podStatusCell, readinessGatesCell } from './status-cells.ts';

const text = (name: string, priority: 0 | 1, cell: Column<Pod>['cell']): Column<Pod> => ({
  name,
  type: 'string',
  priority,
  cell,
});

export const podColumns: readonly Column<Pod>[] = [
  nameColumn,
  text('READY', 0, podReadyCell),
  text('STATUS', 0, podStatusCell),
  text('RESTARTS', 0, podRestartsCell),
  ageColumn,
  text('IP', 1, (pod) => pod.status?.podIPs?.[0]?.ip || pod.status?.podIP || NONE),
  text('NODE', 1, (pod) => pod.spec?.nodeName || NONE),
  text('NOMINATED NODE', 1, (pod) => pod.status?.nominatedNodeName || NONE),
  text('READINESS GATES', 1, readinessGatesCell),
];
