import type { StorageClass } from '../../generated/types.ts';
import { defineKind } from '../kind.ts';
import { storageClassColumns } from './columns.ts';
import { defaultStorageClass } from './defaults.ts';
import { storageClassFields } from './fields.ts';
import { validateStorageClass, validateStorageClassUpdate } from './validate.ts';
import { storageClassWarnings } from './warnings.ts';

export const storageClass = defineKind<StorageClass>()({
  kind: 'StorageClass',
  apiVersion: 'storage.k8s.io/v1',
  plural: 'storageclasses',
  singular: 'storageclass',
  shortNames: ['sc'],
  namespaced: false,
  message: 'berth.storage.v1.StorageClass',
  service: 'berth.storage.v1.StorageClasses',
  durability: 'synced',
  hasStatus: false,
  nameRule: 'subdomain',
  defaults: defaultStorageClass,
  validate: validateStorageClass,
  validateUpdate: validateStorageClassUpdate,
  warnings: storageClassWarnings,
  fields: storageClassFields,
  selectableFields: {},
  columns: storageClassColumns,
});
