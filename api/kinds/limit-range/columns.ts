import type { LimitRange } from '../../generated/types.ts';
import { dateCell, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const limitRangeColumns: readonly Column<LimitRange>[] = [
  nameColumn,
  textColumn('CREATED AT', ({ metadata }) => dateCell(metadata?.creationTimestamp)),
];
