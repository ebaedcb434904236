import type { NetworkPolicy } from '../../generated/types.ts';
import { formatLabelSelector } from '../../meta/labels.ts';
import { ageColumn, NONE, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const networkPolicyColumns: readonly Column<NetworkPolicy>[] = [
  nameColumn,
  { name: 'POD-SELECTOR', type: 'string', priority: 0, cell: ({ spec }) => formatLabelSelector(spec?.podSelector) || NONE },
  ageColumn,
];
