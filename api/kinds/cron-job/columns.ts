import type { CronJob } from '../../generated/types.ts';
import { ageColumn, dateCell, NONE, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';
import { templateColumns } from '../pod-template/template-columns.ts';

const column = (name: string, type: Column<CronJob>['type'], cell: Column<CronJob>['cell']): Column<CronJob> => ({
  name,
  type,
  priority: 0,
  cell,
});

function lastScheduleCell({ status }: CronJob): string {
  return status?.lastScheduleTime ? dateCell(status.lastScheduleTime) : NONE;
}

export const cronJobColumns: readonly Column<CronJob>[] = [
  nameColumn,
  column('SCHEDULE', 'string', ({ spec }) => spec?.schedule ?? ''),
  column('TIMEZONE', 'string', ({ spec }) => spec?.timeZone ?? NONE),
  column('SUSPEND', 'string', ({ spec }) => (spec?.suspend ? 'True' : 'False')),
  column('ACTIVE', 'integer', ({ status }) => String(status?.active?.length ?? 0)),
  column('LAST SCHEDULE', 'date', lastScheduleCell),
  ageColumn,
  ...templateColumns<CronJob>(
    ({ spec }) => spec?.jobTemplate?.spec?.template,
    ({ spec }) => spec?.jobTemplate?.spec?.selector,
  ),
];
