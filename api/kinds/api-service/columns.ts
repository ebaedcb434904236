import type { APIService } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';
import { availableOf } from './meaning.ts';

/** As kubectl shows them. */
export const apiServiceColumns: readonly Column<APIService>[] = [
  nameColumn,
  textColumn('SERVICE', service),
  textColumn('AVAILABLE', available),
  ageColumn,
];

function service({ spec }: APIService): string {
  return spec?.service ? `${spec.service.namespace ?? ''}/${spec.service.name ?? ''}` : 'Local';
}

function available(object: APIService): string {
  const { status, reason } = availableOf(object) ?? {};
  if (status === 'True' || !reason) return status || 'Unknown';
  return `${status} (${reason})`;
}
