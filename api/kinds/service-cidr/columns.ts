import type { ServiceCIDR } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const serviceCidrColumns: readonly Column<ServiceCIDR>[] = [
  nameColumn,
  textColumn('CIDRS', ({ spec }) => spec?.cidrs?.join(',') ?? ''),
  ageColumn,
];
