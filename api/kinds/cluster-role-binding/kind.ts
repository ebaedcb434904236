import type { ClusterRoleBinding } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { bindingColumns, defaultBinding, validateBindingUpdate, validateClusterRoleBinding } from '../rbac-bindings.ts';
import { clusterRoleBindingFields } from './fields.ts';

export const clusterRoleBinding = defineKind<ClusterRoleBinding>()({
  kind: 'ClusterRoleBinding',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  plural: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  shortNames: [],
  namespaced: false,
  message: 'berth.rbac.v1.ClusterRoleBinding',
  service: 'berth.rbac.v1.ClusterRoleBindings',
  durability: 'synced',
  shownBeforeAcknowledged: true,
  hasStatus: false,
  isCreatedByPut: true,
  nameRule: 'path',
  defaults: defaultBinding,
  validate: validateClusterRoleBinding,
  validateUpdate: validateBindingUpdate,
  warnings: fieldWarnings('berth.rbac.v1.ClusterRoleBinding', clusterRoleBindingFields),
  fields: clusterRoleBindingFields,
  selectableFields: {},
  columns: bindingColumns,
});
