import type { RuntimeClass } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { runtimeClassColumns } from './columns.ts';
import { runtimeClassFields } from './fields.ts';
import { validateRuntimeClass, validateRuntimeClassUpdate } from './validate.ts';

export const runtimeClass = defineKind<RuntimeClass>()({
  kind: 'RuntimeClass',
  apiVersion: 'node.k8s.io/v1',
  plural: 'runtimeclasses',
  singular: 'runtimeclass',
  shortNames: [],
  namespaced: false,
  message: 'berth.node.v1.RuntimeClass',
  service: 'berth.node.v1.RuntimeClasses',
  durability: 'synced',
  hasStatus: false,
  isCreatedByPut: true,
  updateNeedsVersion: true,
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateRuntimeClass,
  validateUpdate: validateRuntimeClassUpdate,
  warnings: fieldWarnings('berth.node.v1.RuntimeClass', runtimeClassFields),
  fields: runtimeClassFields,
  selectableFields: {},
  columns: runtimeClassColumns,
});
