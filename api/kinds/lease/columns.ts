import type { Lease } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const leaseColumns: readonly Column<Lease>[] = [
  nameColumn,
  { name: 'HOLDER', type: 'string', priority: 0, cell: (lease) => lease.spec?.holderIdentity ?? '' },
  ageColumn,
];
