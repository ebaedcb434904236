import type { RoleBinding } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { bindingColumns, defaultBinding, validateBindingUpdate, validateRoleBinding } from '../rbac-bindings.ts';
import { roleBindingFields } from './fields.ts';

export const roleBinding = defineKind<RoleBinding>()({
  kind: 'RoleBinding',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  plural: 'rolebindings',
  singular: 'rolebinding',
  shortNames: [],
  namespaced: true,
  message: 'berth.rbac.v1.RoleBinding',
  service: 'berth.rbac.v1.RoleBindings',
  durability: 'synced',
  shownBeforeAcknowledged: true,
  hasStatus: false,
  isCreatedByPut: true,
  nameRule: 'path',
  defaults: defaultBinding,
  validate: validateRoleBinding,
  validateUpdate: validateBindingUpdate,
  warnings: fieldWarnings('berth.rbac.v1.RoleBinding', roleBindingFields),
  fields: roleBindingFields,
  selectableFields: {},
  columns: bindingColumns,
});
