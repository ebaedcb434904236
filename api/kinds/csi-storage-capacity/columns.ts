import type { CSIStorageCapacity } from '../../generated/types.ts';
import { nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const csiStorageCapacityColumns: readonly Column<CSIStorageCapacity>[] = [
  nameColumn,
  textColumn('STORAGECLASSNAME', ({ storageClassName }) => storageClassName ?? ''),
  textColumn('CAPACITY', ({ capacity }) => capacity?.string ?? '<unset>'),
];
