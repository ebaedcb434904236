import type { FlowSchema } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

const text = (name: string, cell: Column<FlowSchema>['cell']): Column<FlowSchema> => ({
  name,
  type: 'string',
  priority: 0,
  cell,
});

export const flowSchemaColumns: readonly Column<FlowSchema>[] = [
  nameColumn,
  text('PRIORITYLEVEL', ({ spec }) => spec?.priorityLevelConfiguration?.name || NONE),
  { name: 'MATCHINGPRECEDENCE', type: 'integer', priority: 0, cell: ({ spec }) => String(spec?.matchingPrecedence ?? 0) },
  text('DISTINGUISHERMETHOD', ({ spec }) => spec?.distinguisherMethod?.type || NONE),
  ageColumn,
  text('MISSINGPL', ({ status }) => status?.conditions?.find(({ type }) => type === 'Dangling')?.status || '?'),
];
