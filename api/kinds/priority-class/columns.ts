import type { PriorityClass } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const priorityClassColumns: readonly Column<PriorityClass>[] = [
  nameColumn,
  { name: 'VALUE', type: 'integer', priority: 0, cell: ({ value }) => String(value ?? 0) },
  { name: 'GLOBAL-DEFAULT', type: 'string', priority: 0, cell: ({ globalDefault }) => String(globalDefault ?? false) },
  ageColumn,
  { name: 'PREEMPTIONPOLICY', type: 'string', priority: 0, cell: ({ preemptionPolicy }) => preemptionPolicy ?? '' },
];
