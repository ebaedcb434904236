import type { Role } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { roleColumns, validateRole } from '../rbac-roles.ts';
import { roleFields } from './fields.ts';

export const role = defineKind<Role>()({
  kind: 'Role',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  plural: 'roles',
  singular: 'role',
  shortNames: [],
  namespaced: true,
  message: 'berth.rbac.v1.Role',
  service: 'berth.rbac.v1.Roles',
  durability: 'synced',
  shownBeforeAcknowledged: true,
  hasStatus: false,
  isCreatedByPut: true,
  nameRule: 'path',
  defaults: () => {},
  validate: validateRole,
  validateUpdate: () => [],
  warnings: fieldWarnings('berth.rbac.v1.Role', roleFields),
  fields: roleFields,
  selectableFields: {},
  columns: roleColumns,
});
