import type { CSIDriver } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { csiDriverColumns } from './columns.ts';
import { defaultCsiDriver } from './defaults.ts';
import { csiDriverFields } from './fields.ts';
import { validateCsiDriver, validateCsiDriverUpdate } from './validate.ts';

export const csiDriver = defineKind<CSIDriver>()({
  kind: 'CSIDriver',
  apiVersion: 'storage.k8s.io/v1',
  plural: 'csidrivers',
  singular: 'csidriver',
  shortNames: [],
  namespaced: false,
  message: 'berth.storage.v1.CSIDriver',
  service: 'berth.storage.v1.CSIDrivers',
  durability: 'synced',
  updateNeedsVersion: true,
  hasStatus: false,
  generation: 'spec changes',
  nameRule: 'subdomain',
  defaults: defaultCsiDriver,
  validate: validateCsiDriver,
  validateUpdate: validateCsiDriverUpdate,
  warnings: fieldWarnings('berth.storage.v1.CSIDriver', csiDriverFields),
  fields: csiDriverFields,
  selectableFields: {},
  columns: csiDriverColumns,
});
