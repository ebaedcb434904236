import type { FlowSchema } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const flowSchemaColumns: readonly Column<FlowSchema>[] = [
  nameColumn,
  textColumn('PRIORITYLEVEL', ({ spec }) => spec?.priorityLevelConfiguration?.name || NONE),
  { name: 'MATCHINGPRECEDENCE', type: 'integer', priority: 0, cell: ({ spec }) => String(spec?.matchingPrecedence ?? 0) },
  textColumn('DISTINGUISHERMETHOD', ({ spec }) => spec?.distinguisherMethod?.type || NONE),
  ageColumn,
  textColumn('MISSINGPL', ({ status }) => status?.conditions?.find(({ type }) => type === 'Dangling')?.status || '?'),
];
