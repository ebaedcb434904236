import type { NodeNetwork } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const nodeNetworkColumns: readonly Column<NodeNetwork>[] = [
  nameColumn,
  textColumn('ADDRESSES', ({ addresses = [] }) => addresses.join(',')),
  textColumn('POD-CIDRS', ({ podCIDRs = [] }) => podCIDRs.join(',')),
  ageColumn,
];
