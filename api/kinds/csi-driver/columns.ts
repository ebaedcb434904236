import type { CSIDriver } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const csiDriverColumns: readonly Column<CSIDriver>[] = [
  nameColumn,
  textColumn('ATTACHREQUIRED', ({ spec }) => String(spec?.attachRequired ?? true)),
  textColumn('PODINFOONMOUNT', ({ spec }) => String(spec?.podInfoOnMount ?? false)),
  textColumn('STORAGECAPACITY', ({ spec }) => String(spec?.storageCapacity ?? false)),
  textColumn('TOKENREQUESTS', ({ spec }) => spec?.tokenRequests?.map(({ audience = '' }) => audience).join(',') ?? '<unset>'),
  textColumn('REQUIRESREPUBLISH', ({ spec }) => String(spec?.requiresRepublish ?? false)),
  textColumn('MODES', ({ spec }) => spec?.volumeLifecycleModes?.join(',') || NONE),
  ageColumn,
];
