import type { Secret } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const secretColumns: readonly Column<Secret>[] = [
  nameColumn,
  textColumn('TYPE', (secret) => secret.type ?? ''),
  { name: 'DATA', type: 'integer', priority: 0, cell: (secret) => String(Object.keys(secret.data ?? {}).length) },
  ageColumn,
];
