import type { Deployment } from '../../generated/types.ts';
import type { Column } from '../kind.ts';
import { countColumn, selectorColumn, textColumn, workloadColumns } from '../workload-columns.ts';

export const deploymentColumns: readonly Column<Deployment>[] = workloadColumns<Deployment>(
  [
    textColumn('READY', 0, ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`),
    countColumn('UP-TO-DATE', ({ status }) => status?.updatedReplicas),
    countColumn('AVAILABLE', ({ status }) => status?.availableReplicas),
  ],
  [selectorColumn()],
);
