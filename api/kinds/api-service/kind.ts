import type { APIService } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { apiServiceColumns } from './columns.ts';
import { apiServiceFields } from './fields.ts';
import { localCondition } from './meaning.ts';
import { validateApiService, validateApiServiceStatus } from './validate.ts';

export const apiService = defineKind<APIService>()({
  kind: 'APIService',
  apiVersion: 'apiregistration.k8s.io/v1',
  plural: 'apiservices',
  singular: 'apiservice',
  shortNames: [],
  categories: ['api-extensions'],
  namespaced: false,
  message: 'berth.apiregistration.v1.APIService',
  service: 'berth.apiregistration.v1.APIServices',
  durability: 'synced',
  shownBeforeAcknowledged: true,
  updateNeedsVersion: true,
  hasStatus: true,
  generation: 'nothing',
  nameRule: 'path',
  defaults({ spec }) {
    if (spec?.service) spec.service.port ??= 443;
  },
  validate: validateApiService,
  validateUpdate: () => [],
  validateStatusUpdate: validateApiServiceStatus,
  warnings: fieldWarnings('berth.apiregistration.v1.APIService', apiServiceFields),
  fields: apiServiceFields,
  selectableFields: {},
  columns: apiServiceColumns,
  lifecycle: {
    prepareForCreate(object) {
      if (!object.spec?.service)
        object.status = { conditions: [localCondition(object.metadata?.creationTimestamp ?? undefined)] };
    },
  },
});
