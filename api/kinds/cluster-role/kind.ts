import type { ClusterRole } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { roleColumns, validateClusterRole } from '../rbac-roles.ts';
import { clusterRoleFields } from './fields.ts';

export const clusterRole = defineKind<ClusterRole>()({
  kind: 'ClusterRole',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  plural: 'clusterroles',
  singular: 'clusterrole',
  shortNames: [],
  namespaced: false,
  message: 'berth.rbac.v1.ClusterRole',
  service: 'berth.rbac.v1.ClusterRoles',
  durability: 'synced',
  shownBeforeAcknowledged: true,
  hasStatus: false,
  isCreatedByPut: true,
  nameRule: 'path',
  defaults: () => {},
  validate: validateClusterRole,
  validateUpdate: () => [],
  warnings: fieldWarnings('berth.rbac.v1.ClusterRole', clusterRoleFields),
  fields: clusterRoleFields,
  selectableFields: {},
  columns: roleColumns,
});
