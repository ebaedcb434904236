import type { ReplicaSet } from '../../generated/types.ts';
import type { Column } from '../kind.ts';
import { countColumn, selectorColumn, workloadColumns } from '../workload-columns.ts';

export const replicaSetColumns: readonly Column<ReplicaSet>[] = workloadColumns<ReplicaSet>(
  [
    countColumn('DESIRED', ({ spec }) => spec?.replicas),
    countColumn('CURRENT', ({ status }) => status?.replicas),
    countColumn('READY', ({ status }) => status?.readyReplicas),
  ],
  [selectorColumn()],
);
