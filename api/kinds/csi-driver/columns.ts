import type { CSIDriver } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

const text = (name: string, cell: Column<CSIDriver>['cell']): Column<CSIDriver> => ({ name, type: 'string', priority: 0, cell });

export const csiDriverColumns: readonly Column<CSIDriver>[] = [
  nameColumn,
  text('ATTACHREQUIRED', ({ spec }) => String(spec?.attachRequired ?? true)),
  text('PODINFOONMOUNT', ({ spec }) => String(spec?.podInfoOnMount ?? false)),
  text('STORAGECAPACITY', ({ spec }) => String(spec?.storageCapacity ?? false)),
  text('TOKENREQUESTS', ({ spec }) => spec?.tokenRequests?.map(({ audience = '' }) => audience).join(',') ?? '<unset>'),
  text('REQUIRESREPUBLISH', ({ spec }) => String(spec?.requiresRepublish ?? false)),
  text('MODES', ({ spec }) => spec?.volumeLifecycleModes?.join(',') || NONE),
  ageColumn,
];
