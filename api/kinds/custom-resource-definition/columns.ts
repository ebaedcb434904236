import type { CustomResourceDefinition } from '../../generated/types.ts';
import { dateCell, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

/** As kubectl shows them. */
export const customResourceDefinitionColumns: readonly Column<CustomResourceDefinition>[] = [
  nameColumn,
  { name: 'CREATED AT', type: 'string', priority: 0, cell: ({ metadata }) => dateCell(metadata?.creationTimestamp) },
];
