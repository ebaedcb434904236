import type { IntOrString, PodDisruptionBudget } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import { formatIntOrString } from '../int-or-percent.ts';
import type { Column } from '../kind.ts';

/** What kubectl shows for a bound that is not set. */
const NOT_SET = 'N/A';

function bound(value: IntOrString | undefined): string {
  return value ? formatIntOrString(value) : NOT_SET;
}

export const podDisruptionBudgetColumns: readonly Column<PodDisruptionBudget>[] = [
  nameColumn,
  { name: 'MIN AVAILABLE', type: 'string', priority: 0, cell: ({ spec }) => bound(spec?.minAvailable) },
  { name: 'MAX UNAVAILABLE', type: 'string', priority: 0, cell: ({ spec }) => bound(spec?.maxUnavailable) },
  {
    name: 'ALLOWED DISRUPTIONS',
    type: 'integer',
    priority: 0,
    cell: ({ status }) => String(status?.disruptionsAllowed ?? 0),
  },
  ageColumn,
];
