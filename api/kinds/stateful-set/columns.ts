import type { StatefulSet } from '../../generated/types.ts';
import type { Column } from '../kind.ts';
import { textColumn, workloadColumns } from '../workload-columns.ts';

export const statefulSetColumns: readonly Column<StatefulSet>[] = workloadColumns<StatefulSet>([
  textColumn('READY', 0, ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`),
]);
