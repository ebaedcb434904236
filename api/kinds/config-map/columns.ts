import type { ConfigMap } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

const size = (map: object | undefined): number => Object.keys(map ?? {}).length;

export const configMapColumns: readonly Column<ConfigMap>[] = [
  nameColumn,
  { name: 'DATA', type: 'integer', priority: 0, cell: (map) => String(size(map.data) + size(map.binaryData)) },
  ageColumn,
];
