import type { IntOrString, PodDisruptionBudget } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import { formatIntOrString } from '../int-or-percent.ts';
import type { Column } from '../kind.ts';

/** What kubectl shows for a bound that is not set. */
const NOT_SET = 'N/A';

function bound(value: IntOrString | undefined): string {
  return value ? formatIntOrString(value) : NOT_SET;
}

export const podDisruptionBudgetColumns: readonly Column<PodDisruptionBudget>[] = [
  nameColumn,
  textColumn('MIN AVAILABLE', ({ spec }) => bound(spec?.minAvailable)),
  textColumn('MAX UNAVAILABLE', ({ spec }) => bound(spec?.maxUnavailable)),
  {
    name: 'ALLOWED DISRUPTIONS',
    type: 'integer',
    priority: 0,
    cell: ({ status }) => String(status?.disruptionsAllowed ?? 0),
  },
  ageColumn,
];
