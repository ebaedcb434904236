import type { PersistentVolume } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';
import { accessModesCell, storageClassOf } from '../storage.ts';

/** What kubectl shows for an unset field. */
const UNSET = '<unset>';

const text = (name: string, cell: (volume: PersistentVolume) => string, priority: 0 | 1 = 0): Column<PersistentVolume> => ({
  name,
  type: 'string',
  priority,
  cell,
});

function claimCell({ spec }: PersistentVolume): string {
  return spec?.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : '';
}

export const persistentVolumeColumns: readonly Column<PersistentVolume>[] = [
  nameColumn,
  text('CAPACITY', ({ spec }) => spec?.capacity?.storage?.string ?? ''),
  text('ACCESS MODES', ({ spec }) => accessModesCell(spec?.accessModes)),
  text('RECLAIM POLICY', ({ spec }) => spec?.persistentVolumeReclaimPolicy ?? ''),
  text('STATUS', ({ metadata, status }) => (metadata?.deletionTimestamp ? 'Terminating' : (status?.phase ?? ''))),
  text('CLAIM', claimCell),
  text('STORAGECLASS', storageClassOf),
  text('VOLUMEATTRIBUTESCLASS', ({ spec }) => spec?.volumeAttributesClassName ?? UNSET),
  text('REASON', ({ status }) => status?.reason ?? ''),
  ageColumn,
  text('VOLUMEMODE', ({ spec }) => spec?.volumeMode ?? UNSET, 1),
];
