import type { StorageClass } from '../../generated/types.ts';
import { ageColumn, nameOf, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';
import { isDefaultClass } from './default-class.ts';

export const storageClassColumns: readonly Column<StorageClass>[] = [
  textColumn('NAME', (storageClass) => nameOf(storageClass) + (isDefaultClass(storageClass) ? ' (default)' : '')),
  textColumn('PROVISIONER', ({ provisioner }) => provisioner ?? ''),
  textColumn('RECLAIMPOLICY', ({ reclaimPolicy }) => reclaimPolicy ?? ''),
  textColumn('VOLUMEBINDINGMODE', ({ volumeBindingMode }) => volumeBindingMode ?? ''),
  textColumn('ALLOWVOLUMEEXPANSION', ({ allowVolumeExpansion }) => String(allowVolumeExpansion ?? false)),
  ageColumn,
];
