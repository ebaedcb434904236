import type { PriorityLevelConfiguration, QueuingConfiguration } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

type Level = PriorityLevelConfiguration;
const text = (name: string, cell: Column<Level>['cell']): Column<Level> => ({ name, type: 'string', priority: 0, cell });

const ofQueues = (name: string, field: keyof QueuingConfiguration): Column<Level> =>
  text(name, ({ spec }) => String(spec?.limited?.limitResponse?.queuing?.[field] ?? NONE));

export const priorityLevelConfigurationColumns: readonly Column<Level>[] = [
  nameColumn,
  text('TYPE', ({ spec }) => spec?.type ?? ''),
  text('NOMINALCONCURRENCYSHARES', ({ spec }) => String((spec?.limited ?? spec?.exempt)?.nominalConcurrencyShares ?? NONE)),
  ofQueues('QUEUES', 'queues'),
  ofQueues('HANDSIZE', 'handSize'),
  ofQueues('QUEUELENGTHLIMIT', 'queueLengthLimit'),
  ageColumn,
];
