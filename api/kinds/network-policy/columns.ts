import type { NetworkPolicy } from '../../generated/types.ts';
import { formatLabelSelector } from '../../meta/labels.ts';
import { ageColumn, NONE, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const networkPolicyColumns: readonly Column<NetworkPolicy>[] = [
  nameColumn,
  textColumn('POD-SELECTOR', ({ spec }) => formatLabelSelector(spec?.podSelector) || NONE),
  ageColumn,
];
