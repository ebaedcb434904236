import type { EndpointSlice } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { endpointSliceColumns } from './columns.ts';
import { endpointSliceFields } from './fields.ts';
import { defaultEndpointSlice, validateEndpointSlice, validateEndpointSliceUpdate } from './validate.ts';

export const endpointSlice = defineKind<EndpointSlice>()({
  kind: 'EndpointSlice',
  apiVersion: 'discovery.k8s.io/v1',
  plural: 'endpointslices',
  singular: 'endpointslice',
  shortNames: [],
  namespaced: true,
  message: 'berth.discovery.v1.EndpointSlice',
  service: 'berth.discovery.v1.EndpointSlices',
  durability: 'synced',
  hasStatus: false,
  generation: 'content',
  nameRule: 'subdomain',
  defaults: defaultEndpointSlice,
  validate: validateEndpointSlice,
  validateUpdate: validateEndpointSliceUpdate,
  warnings: fieldWarnings('berth.discovery.v1.EndpointSlice', endpointSliceFields),
  fields: endpointSliceFields,
  selectableFields: {},
  columns: endpointSliceColumns,
});
