import type { CSIStorageCapacity } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { csiStorageCapacityColumns } from './columns.ts';
import { csiStorageCapacityFields } from './fields.ts';
import { validateCsiStorageCapacity, validateCsiStorageCapacityUpdate } from './validate.ts';

export const csiStorageCapacity = defineKind<CSIStorageCapacity>()({
  kind: 'CSIStorageCapacity',
  apiVersion: 'storage.k8s.io/v1',
  plural: 'csistoragecapacities',
  singular: 'csistoragecapacity',
  shortNames: [],
  namespaced: true,
  message: 'berth.storage.v1.CSIStorageCapacity',
  service: 'berth.storage.v1.CSIStorageCapacities',
  durability: 'synced',
  updateNeedsVersion: true,
  hasStatus: false,
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateCsiStorageCapacity,
  validateUpdate: validateCsiStorageCapacityUpdate,
  warnings: fieldWarnings('berth.storage.v1.CSIStorageCapacity', csiStorageCapacityFields),
  fields: csiStorageCapacityFields,
  selectableFields: {},
  columns: csiStorageCapacityColumns,
});
