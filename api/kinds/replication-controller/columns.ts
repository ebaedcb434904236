import type { ReplicationController } from '../../generated/types.ts';
import { formatLabels } from '../../meta/labels.ts';
import { NONE } from '../cells.ts';
import type { Column } from '../kind.ts';
import { countColumn, textColumn, workloadColumns } from '../workload-columns.ts';

export const replicationControllerColumns: readonly Column<ReplicationController>[] = workloadColumns<ReplicationController>(
  [
    countColumn('DESIRED', ({ spec }) => spec?.replicas),
    countColumn('CURRENT', ({ status }) => status?.replicas),
    countColumn('READY', ({ status }) => status?.readyReplicas),
  ],
  [textColumn('SELECTOR', 1, ({ spec }) => formatLabels(spec?.selector) || NONE)],
);
