import type { CSINode } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const csiNodeColumns: readonly Column<CSINode>[] = [
  nameColumn,
  { name: 'DRIVERS', type: 'integer', priority: 0, cell: ({ spec }) => String(spec?.drivers?.length ?? 0) },
  ageColumn,
];
