import type { Service } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { serviceColumns } from './columns.ts';
import { defaultService } from './defaults.ts';
import { serviceFields } from './fields.ts';
import { serviceLifecycle } from './lifecycle.ts';
import { validateNewService, validateService, validateServiceStatus, validateServiceUpdate } from './validate.ts';

export const service = defineKind<Service>()({
  kind: 'Service',
  apiVersion: 'v1',
  plural: 'services',
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  namespaced: true,
  message: 'berth.core.v1.Service',
  service: 'berth.core.v1.Services',
  durability: 'synced',
  // An address that a delete gave back is free for the next create.
  shownBeforeAcknowledged: true,
  hasStatus: true,
  generation: 'nothing',
  isCreatedByPut: true,
  nameRule: 'label',
  defaults: defaultService,
  validate: validateService,
  validateCreate: validateNewService,
  validateUpdate: validateServiceUpdate,
  validateStatusUpdate: validateServiceStatus,
  warnings: fieldWarnings('berth.core.v1.Service', serviceFields),
  fields: serviceFields,
  selectableFields: {
    'spec.clusterIP': ({ spec }) => spec?.clusterIP ?? '',
    'spec.type': ({ spec }) => spec?.type ?? '',
  },
  columns: serviceColumns,
  lifecycle: serviceLifecycle,
});
