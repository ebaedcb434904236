import type { PersistentVolume } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { nodeOfVolume } from '../storage-class/local-path.ts';
import { persistentVolumeColumns } from './columns.ts';
import { defaultPersistentVolume } from './defaults.ts';
import { persistentVolumeFields } from './fields.ts';
import { validatePersistentVolume, validatePersistentVolumeUpdate } from './validate.ts';

export const persistentVolume = defineKind<PersistentVolume>()({
  kind: 'PersistentVolume',
  apiVersion: 'v1',
  plural: 'persistentvolumes',
  singular: 'persistentvolume',
  shortNames: ['pv'],
  namespaced: false,
  message: 'berth.core.v1.PersistentVolume',
  service: 'berth.core.v1.PersistentVolumes',
  durability: 'synced',
  hasStatus: true,
  generation: 'nothing',
  nameRule: 'subdomain',
  defaults: defaultPersistentVolume,
  validate: validatePersistentVolume,
  validateUpdate: validatePersistentVolumeUpdate,
  fields: persistentVolumeFields,
  warnings: fieldWarnings('berth.core.v1.PersistentVolume', persistentVolumeFields),
  // For the agents, each of which makes and removes the folders of its own node.
  selectableFields: {
    'spec.local.nodeName': (volume) => (volume.spec?.persistentVolumeSource?.local && nodeOfVolume(volume)) || '',
  },
  columns: persistentVolumeColumns,
  lifecycle: {
    prepareForCreate(volume) {
      volume.status = { phase: 'Pending' };
    },
  },
});
