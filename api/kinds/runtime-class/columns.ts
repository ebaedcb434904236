import type { RuntimeClass } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const runtimeClassColumns: readonly Column<RuntimeClass>[] = [
  nameColumn,
  textColumn('HANDLER', ({ handler }) => handler ?? ''),
  ageColumn,
];
