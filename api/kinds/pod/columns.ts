import type { Pod } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';
import { podReadyCell, podRestartsCell, podStatusCell, readinessGatesCell } from './status-cells.ts';

export const podColumns: readonly Column<Pod>[] = [
  nameColumn,
  textColumn('READY', podReadyCell),
  textColumn('STATUS', podStatusCell),
  textColumn('RESTARTS', podRestartsCell),
  ageColumn,
  textColumn('IP', (pod) => pod.status?.podIPs?.[0]?.ip || pod.status?.podIP || NONE, 1),
  textColumn('NODE', (pod) => pod.spec?.nodeName || NONE, 1),
  textColumn('NOMINATED NODE', (pod) => pod.status?.nominatedNodeName || NONE, 1),
  textColumn('READINESS GATES', readinessGatesCell, 1),
];
