import type { Namespace } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const namespaceColumns: readonly Column<Namespace>[] = [
  nameColumn,
  textColumn('STATUS', (namespace) => (namespace.metadata?.deletionTimestamp ? 'Terminating' : (namespace.status?.phase ?? ''))),
  ageColumn,
];
