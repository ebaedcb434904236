import type { ResourceQuota } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { resourceQuotaColumns } from './columns.ts';
import { resourceQuotaFields } from './fields.ts';
import { validateResourceQuota, validateResourceQuotaStatus, validateResourceQuotaUpdate } from './validate.ts';

export const resourceQuota = defineKind<ResourceQuota>()({
  kind: 'ResourceQuota',
  apiVersion: 'v1',
  plural: 'resourcequotas',
  singular: 'resourcequota',
  shortNames: ['quota'],
  namespaced: true,
  message: 'berth.core.v1.ResourceQuota',
  service: 'berth.core.v1.ResourceQuotas',
  durability: 'synced',
  shownBeforeAcknowledged: true,
  hasStatus: true,
  generation: 'nothing',
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateResourceQuota,
  validateUpdate: validateResourceQuotaUpdate,
  validateStatusUpdate: validateResourceQuotaStatus,
  warnings: fieldWarnings('berth.core.v1.ResourceQuota', resourceQuotaFields),
  fields: resourceQuotaFields,
  selectableFields: {},
  columns: resourceQuotaColumns,
});
