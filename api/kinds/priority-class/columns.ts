import type { PriorityClass } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const priorityClassColumns: readonly Column<PriorityClass>[] = [
  nameColumn,
  { name: 'VALUE', type: 'integer', priority: 0, cell: ({ value }) => String(value ?? 0) },
  textColumn('GLOBAL-DEFAULT', ({ globalDefault }) => String(globalDefault ?? false)),
  ageColumn,
  textColumn('PREEMPTIONPOLICY', ({ preemptionPolicy }) => preemptionPolicy ?? ''),
];
