import type { Lease } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const leaseColumns: readonly Column<Lease>[] = [
  nameColumn,
  textColumn('HOLDER', (lease) => lease.spec?.holderIdentity ?? ''),
  ageColumn,
];
