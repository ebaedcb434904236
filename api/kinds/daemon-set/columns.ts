import type { DaemonSet } from '../../generated/types.ts';
import { formatLabels } from '../../meta/labels.ts';
import { NONE } from '../cells.ts';
import type { Column } from '../kind.ts';
import { countColumn, selectorColumn, textColumn, workloadColumns } from '../workload-columns.ts';

export const daemonSetColumns: readonly Column<DaemonSet>[] = workloadColumns<DaemonSet>(
  [
    countColumn('DESIRED', ({ status }) => status?.desiredNumberScheduled),
    countColumn('CURRENT', ({ status }) => status?.currentNumberScheduled),
    countColumn('READY', ({ status }) => status?.numberReady),
    countColumn('UP-TO-DATE', ({ status }) => status?.updatedNumberScheduled),
    countColumn('AVAILABLE', ({ status }) => status?.numberAvailable),
    textColumn('NODE SELECTOR', 0, ({ spec }) => formatLabels(spec?.template?.spec?.nodeSelector) || NONE),
  ],
  [selectorColumn()],
);
