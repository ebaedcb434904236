import type { LimitRange } from '../../generated/types.ts';
import { dateCell, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const limitRangeColumns: readonly Column<LimitRange>[] = [
  nameColumn,
  { name: 'CREATED AT', type: 'string', priority: 0, cell: ({ metadata }) => dateCell(metadata?.creationTimestamp) },
];
