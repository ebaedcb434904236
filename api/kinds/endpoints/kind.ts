import type { Endpoints } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { endpointsColumns } from './columns.ts';
import { endpointsFields } from './fields.ts';
import { defaultEndpoints, validateEndpoints, validateEndpointsUpdate } from './validate.ts';

export const endpoints = defineKind<Endpoints>()({
  kind: 'Endpoints',
  apiVersion: 'v1',
  plural: 'endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  namespaced: true,
  message: 'berth.core.v1.Endpoints',
  service: 'berth.core.v1.EndpointsService',
  durability: 'synced',
  hasStatus: false,
  isCreatedByPut: true,
  nameRule: 'subdomain',
  defaults: defaultEndpoints,
  validate: validateEndpoints,
  validateUpdate: validateEndpointsUpdate,
  warnings: fieldWarnings('berth.core.v1.Endpoints', endpointsFields),
  fields: endpointsFields,
  selectableFields: {},
  columns: endpointsColumns,
});
