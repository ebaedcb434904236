import type { NodeNetwork } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const nodeNetworkColumns: readonly Column<NodeNetwork>[] = [
  nameColumn,
  { name: 'ADDRESSES', type: 'string', priority: 0, cell: ({ addresses = [] }) => addresses.join(',') },
  { name: 'POD-CIDRS', type: 'string', priority: 0, cell: ({ podCIDRs = [] }) => podCIDRs.join(',') },
  ageColumn,
];
