import type { CSIStorageCapacity } from '../../generated/types.ts';
import { nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const csiStorageCapacityColumns: readonly Column<CSIStorageCapacity>[] = [
  nameColumn,
  { name: 'STORAGECLASSNAME', type: 'string', priority: 0, cell: ({ storageClassName }) => storageClassName ?? '' },
  { name: 'CAPACITY', type: 'string', priority: 0, cell: ({ capacity }) => capacity?.string ?? '<unset>' },
];
