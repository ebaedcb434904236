import type { PersistentVolumeClaim } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { noteFractions } from '../fractional-bytes.ts';
import { defineKind } from '../kind.ts';
import { persistentVolumeClaimColumns } from './columns.ts';
import { defaultPersistentVolumeClaim } from './defaults.ts';
import { persistentVolumeClaimFields } from './fields.ts';
import { validatePersistentVolumeClaim, validatePersistentVolumeClaimUpdate } from './validate.ts';

const fieldNotes = fieldWarnings('berth.core.v1.PersistentVolumeClaim', persistentVolumeClaimFields);

function claimNotes(claim: PersistentVolumeClaim): string[] {
  const notes = fieldNotes(claim);
  noteFractions(notes, () => 'spec.resources', claim.spec?.resources);
  return notes;
}

export const persistentVolumeClaim = defineKind<PersistentVolumeClaim>()({
  kind: 'PersistentVolumeClaim',
  apiVersion: 'v1',
  plural: 'persistentvolumeclaims',
  singular: 'persistentvolumeclaim',
  shortNames: ['pvc'],
  namespaced: true,
  message: 'berth.core.v1.PersistentVolumeClaim',
  service: 'berth.core.v1.PersistentVolumeClaims',
  durability: 'synced',
  hasStatus: true,
  generation: 'nothing',
  nameRule: 'subdomain',
  defaults: defaultPersistentVolumeClaim,
  validate: validatePersistentVolumeClaim,
  validateUpdate: validatePersistentVolumeClaimUpdate,
  fields: persistentVolumeClaimFields,
  warnings: claimNotes,
  selectableFields: {},
  columns: persistentVolumeClaimColumns,
  lifecycle: {
    prepareForCreate(claim) {
      claim.status = { phase: 'Pending' };
    },
    /** A manifest that is applied again says nothing of the class that admission chose. */
    prepareForUpdate(next, { spec: { storageClassName } = {} }) {
      if (next.spec && storageClassName !== undefined) next.spec.storageClassName ??= storageClassName;
    },
  },
});
