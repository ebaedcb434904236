import type { StorageClass } from '../../generated/types.ts';
import { ageColumn, nameOf } from '../cells.ts';
import type { Column } from '../kind.ts';
import { isDefaultClass } from './default-class.ts';

const text = (name: string, cell: (storageClass: StorageClass) => string): Column<StorageClass> => ({
  name,
  type: 'string',
  priority: 0,
  cell,
});

export const storageClassColumns: readonly Column<StorageClass>[] = [
  text('NAME', (storageClass) => nameOf(storageClass) + (isDefaultClass(storageClass) ? ' (default)' : '')),
  text('PROVISIONER', ({ provisioner }) => provisioner ?? ''),
  text('RECLAIMPOLICY', ({ reclaimPolicy }) => reclaimPolicy ?? ''),
  text('VOLUMEBINDINGMODE', ({ volumeBindingMode }) => volumeBindingMode ?? ''),
  text('ALLOWVOLUMEEXPANSION', ({ allowVolumeExpansion }) => String(allowVolumeExpansion ?? false)),
  ageColumn,
];
