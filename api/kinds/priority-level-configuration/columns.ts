import type { PriorityLevelConfiguration, QueuingConfiguration } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

type Level = PriorityLevelConfiguration;
const ofQueues = (name: string, field: keyof QueuingConfiguration): Column<Level> =>
  textColumn(name, ({ spec }) => String(spec?.limited?.limitResponse?.queuing?.[field] ?? NONE));

export const priorityLevelConfigurationColumns: readonly Column<Level>[] = [
  nameColumn,
  textColumn('TYPE', ({ spec }) => spec?.type ?? ''),
  textColumn('NOMINALCONCURRENCYSHARES', ({ spec }) => String((spec?.limited ?? spec?.exempt)?.nominalConcurrencyShares ?? NONE)),
  ofQueues('QUEUES', 'queues'),
  ofQueues('HANDSIZE', 'handSize'),
  ofQueues('QUEUELENGTHLIMIT', 'queueLengthLimit'),
  ageColumn,
];
