import type { Job } from '../../generated/types.ts';
import { isConditionTrue } from '../../meta/conditions.ts';
import { toMillis } from '../../meta/time.ts';
import { ageColumn, formatAge, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';
import { templateColumns } from '../pod-template/template-columns.ts';

/** Where a job stands, in one word. */
export function jobStatusCell({ metadata, status }: Job): string {
  const is = (type: string): boolean => isConditionTrue(status?.conditions, type);
  for (const type of ['Complete', 'Failed']) if (is(type)) return type;
  if (metadata?.deletionTimestamp) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(is) ?? 'Running';
}

/** "1/3", or "1/1 of 3" when any of three will do. */
function completionsCell({ spec, status }: Job): string {
  const { completions, parallelism = 0 } = spec ?? {};
  const succeeded = status?.succeeded ?? 0;
  if (completions !== undefined) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationCell({ status }: Job, now: Date): string {
  if (!status?.startTime) return '';
  const end = status.completionTime ? toMillis(status.completionTime) : now.getTime();
  return formatAge(end - toMillis(status.startTime));
}

export const jobColumns: readonly Column<Job>[] = [
  nameColumn,
  textColumn('STATUS', jobStatusCell),
  textColumn('COMPLETIONS', completionsCell),
  textColumn('DURATION', durationCell),
  ageColumn,
  ...templateColumns<Job>(
    ({ spec }) => spec?.template,
    ({ spec }) => spec?.selector,
  ),
];
