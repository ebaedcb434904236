import type { CustomResourceDefinition } from '../../generated/types.ts';
import { dateCell, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

/** As kubectl shows them. */
export const customResourceDefinitionColumns: readonly Column<CustomResourceDefinition>[] = [
  nameColumn,
  textColumn('CREATED AT', ({ metadata }) => dateCell(metadata?.creationTimestamp)),
];
