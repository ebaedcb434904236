import type { EndpointSlice } from '../../generated/types.ts';
import { ageColumn, firstOf, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

const UNSET = '<unset>';

export const endpointSliceColumns: readonly Column<EndpointSlice>[] = [
  nameColumn,
  { name: 'ADDRESSTYPE', type: 'string', priority: 0, cell: ({ addressType }) => addressType ?? '' },
  {
    name: 'PORTS',
    type: 'string',
    priority: 0,
    cell: ({ ports = [] }) => firstOf(ports.map(({ port, name }) => String(port ?? (name || '*')))) || UNSET,
  },
  {
    name: 'ENDPOINTS',
    type: 'string',
    priority: 0,
    cell: ({ endpoints = [] }) => firstOf(endpoints.flatMap(({ addresses = [] }) => addresses)) || UNSET,
  },
  ageColumn,
];
