import type { EndpointSlice } from '../../generated/types.ts';
import { ageColumn, firstOf, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

const UNSET = '<unset>';

export const endpointSliceColumns: readonly Column<EndpointSlice>[] = [
  nameColumn,
  textColumn('ADDRESSTYPE', ({ addressType }) => addressType ?? ''),
  textColumn('PORTS', ({ ports = [] }) => firstOf(ports.map(({ port, name }) => String(port ?? (name || '*')))) || UNSET),
  textColumn('ENDPOINTS', ({ endpoints = [] }) => firstOf(endpoints.flatMap(({ addresses = [] }) => addresses)) || UNSET),
  ageColumn,
];
