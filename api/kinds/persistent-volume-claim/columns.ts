import type { PersistentVolumeClaim } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';
import { accessModesCell, storageClassOf } from '../storage.ts';

/** What kubectl shows for an unset field. */
const UNSET = '<unset>';

const text = (
  name: string,
  cell: (claim: PersistentVolumeClaim) => string,
  priority: 0 | 1 = 0,
): Column<PersistentVolumeClaim> => ({ name, type: 'string', priority, cell });

/** Shown of claims that have a volume. */
const ofVolume = (cell: (claim: PersistentVolumeClaim) => string) => (claim: PersistentVolumeClaim) =>
  claim.spec?.volumeName ? cell(claim) : '';

export const persistentVolumeClaimColumns: readonly Column<PersistentVolumeClaim>[] = [
  nameColumn,
  text('STATUS', ({ metadata, status }) => (metadata?.deletionTimestamp ? 'Terminating' : (status?.phase ?? ''))),
  text('VOLUME', ({ spec }) => spec?.volumeName ?? ''),
  text(
    'CAPACITY',
    ofVolume(({ status }) => status?.capacity?.storage?.string ?? '0'),
  ),
  text(
    'ACCESS MODES',
    ofVolume(({ status }) => accessModesCell(status?.accessModes)),
  ),
  text('STORAGECLASS', storageClassOf),
  text('VOLUMEATTRIBUTESCLASS', ({ spec }) => spec?.volumeAttributesClassName ?? UNSET),
  ageColumn,
  text('VOLUMEMODE', ({ spec }) => spec?.volumeMode ?? UNSET, 1),
];
