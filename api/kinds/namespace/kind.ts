import type { Namespace } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { namespaceColumns } from './columns.ts';
import { defaultNamespace } from './defaults.ts';
import { namespaceFields } from './fields.ts';
import { namespaceLifecycle } from './lifecycle.ts';
import { podSecurityLabelWarnings } from './pod-security-labels.ts';
import { validateNamespace } from './validate.ts';

const warnOfFields = fieldWarnings('berth.core.v1.Namespace', namespaceFields);

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
  generation: 'nothing',
  nameRule: 'label',
  defaults: defaultNamespace,
  validate: validateNamespace,
  validateUpdate: () => [],
  fields: namespaceFields,
  warnings: (object) => [...warnOfFields(object), ...podSecurityLabelWarnings(object)],
  selectableFields: { 'status.phase': (object) => object.status?.phase ?? '' },
  columns: namespaceColumns,
  lifecycle: namespaceLifecycle,
});
