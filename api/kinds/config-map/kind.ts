import type { ConfigMap } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { configMapColumns } from './columns.ts';
import { configMapFields } from './fields.ts';
import { validateConfigMap, validateConfigMapUpdate } from './validate.ts';

export const configMap = defineKind<ConfigMap>()({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  plural: 'configmaps',
  singular: 'configmap',
  shortNames: ['cm'],
  namespaced: true,
  message: 'berth.core.v1.ConfigMap',
  service: 'berth.core.v1.ConfigMaps',
  durability: 'synced',
  hasStatus: false,
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateConfigMap,
  validateUpdate: validateConfigMapUpdate,
  fields: configMapFields,
  warnings: fieldWarnings('berth.core.v1.ConfigMap', configMapFields),
  selectableFields: {},
  columns: configMapColumns,
});
