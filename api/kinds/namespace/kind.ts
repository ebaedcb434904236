import type { Namespace } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { namespaceColumns } from './columns.ts';
import { defaultNamespace } from './defaults.ts';
import { namespaceFields } from './fields.ts';
import { namespaceLifecycle } from './lifecycle.ts';
import { validateNamespace } from './validate.ts';

export const namespace = defineKind<Namespace>()({
  kind: 'Namespace',
  apiVersion: 'v1',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  namespaced: false,
  message: 'berth.core.v1.Namespace',
  service: 'berth.core.v1.Namespaces',
  durability: 'synced',
  hasStatus: true,
  nameRule: 'label',
  defaults: defaultNamespace,
  validate: validateNamespace,
  validateUpdate: () => [],
  fields: namespaceFields,
  warnings: fieldWarnings('berth.core.v1.Namespace', namespaceFields),
  selectableFields: { 'status.phase': (object) => object.status?.phase ?? '' },
  columns: namespaceColumns,
  lifecycle: namespaceLifecycle,
});
