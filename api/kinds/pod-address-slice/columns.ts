import type { PodAddressSlice } from '../../generated/types.ts';
import { ageColumn, firstOf, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const podAddressSliceColumns: readonly Column<PodAddressSlice>[] = [
  nameColumn,
  { name: 'PODS', type: 'integer', priority: 0, cell: ({ pods = [] }) => String(pods.length) },
  textColumn('ADDRESSES', ({ pods = [] }) => firstOf(pods.flatMap(({ podIPs = [] }) => podIPs))),
  ageColumn,
];
