import type { PersistentVolumeClaim } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';
import { accessModesCell, storageClassOf } from '../storage.ts';

/** What kubectl shows for an unset field. */
const UNSET = '<unset>';

/** Shown of claims that have a volume. */
const ofVolume = (cell: (claim: PersistentVolumeClaim) => string) => (claim: PersistentVolumeClaim) =>
  claim.spec?.volumeName ? cell(claim) : '';

export const persistentVolumeClaimColumns: readonly Column<PersistentVolumeClaim>[] = [
  nameColumn,
  textColumn('STATUS', ({ metadata, status }) => (metadata?.deletionTimestamp ? 'Terminating' : (status?.phase ?? ''))),
  textColumn('VOLUME', ({ spec }) => spec?.volumeName ?? ''),
  textColumn(
    'CAPACITY',
    ofVolume(({ status }) => status?.capacity?.storage?.string ?? '0'),
  ),
  textColumn(
    'ACCESS MODES',
    ofVolume(({ status }) => accessModesCell(status?.accessModes)),
  ),
  textColumn('STORAGECLASS', storageClassOf),
  textColumn('VOLUMEATTRIBUTESCLASS', ({ spec }) => spec?.volumeAttributesClassName ?? UNSET),
  ageColumn,
  textColumn('VOLUMEMODE', ({ spec }) => spec?.volumeMode ?? UNSET, 1),
];
