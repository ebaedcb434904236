import type { Namespace } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const namespaceColumns: readonly Column<Namespace>[] = [
  nameColumn,
  {
    name: 'STATUS',
    type: 'string',
    priority: 0,
    cell: (namespace) => (namespace.metadata?.deletionTimestamp ? 'Terminating' : (namespace.status?.phase ?? '')),
  },
  ageColumn,
];
