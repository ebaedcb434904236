import type { ServiceAccount } from '../../generated/types.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { serviceAccountFields } from './fields.ts';

export const serviceAccount = defineKind<ServiceAccount>()({
  kind: 'ServiceAccount',
  apiVersion: 'v1',
  plural: 'serviceaccounts',
  singular: 'serviceaccount',
  shortNames: ['sa'],
  namespaced: true,
  message: 'berth.core.v1.ServiceAccount',
  service: 'berth.core.v1.ServiceAccounts',
  durability: 'synced',
  shownBeforeAcknowledged: true,
  hasStatus: false,
  updateNeedsVersion: true,
  nameRule: 'subdomain',
  defaults: () => {},
  validate: () => [],
  validateUpdate: () => [],
  warnings: fieldWarnings('berth.core.v1.ServiceAccount', serviceAccountFields),
  fields: serviceAccountFields,
  selectableFields: {},
  columns: [
    nameColumn,
    { name: 'SECRETS', type: 'integer', priority: 0, cell: ({ secrets = [] }) => String(secrets.length) },
    ageColumn,
  ],
});
