import type { RuntimeClass } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const runtimeClassColumns: readonly Column<RuntimeClass>[] = [
  nameColumn,
  { name: 'HANDLER', type: 'string', priority: 0, cell: ({ handler }) => handler ?? '' },
  ageColumn,
];
