import type { PersistentVolume } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';
import { accessModesCell, storageClassOf } from '../storage.ts';

/** What kubectl shows for an unset field. */
const UNSET = '<unset>';

function claimCell({ spec }: PersistentVolume): string {
  return spec?.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : '';
}

export const persistentVolumeColumns: readonly Column<PersistentVolume>[] = [
  nameColumn,
  textColumn('CAPACITY', ({ spec }) => spec?.capacity?.storage?.string ?? ''),
  textColumn('ACCESS MODES', ({ spec }) => accessModesCell(spec?.accessModes)),
  textColumn('RECLAIM POLICY', ({ spec }) => spec?.persistentVolumeReclaimPolicy ?? ''),
  textColumn('STATUS', ({ metadata, status }) => (metadata?.deletionTimestamp ? 'Terminating' : (status?.phase ?? ''))),
  textColumn('CLAIM', claimCell),
  textColumn('STORAGECLASS', storageClassOf),
  textColumn('VOLUMEATTRIBUTESCLASS', ({ spec }) => spec?.volumeAttributesClassName ?? UNSET),
  textColumn('REASON', ({ status }) => status?.reason ?? ''),
  ageColumn,
  textColumn('VOLUMEMODE', ({ spec }) => spec?.volumeMode ?? UNSET, 1),
];
