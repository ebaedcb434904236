import type { PodAddressSlice } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { podAddressSliceColumns } from './columns.ts';
import { podAddressSliceFields } from './fields.ts';
import { validatePodAddressSlice } from './validate.ts';

/** A kind of Berth's own: agents read those of all namespaces, and Pods only of their own node. */
export const podAddressSlice = defineKind<PodAddressSlice>()({
  kind: 'PodAddressSlice',
  apiVersion: 'networking.berth.io/v1',
  plural: 'podaddressslices',
  singular: 'podaddressslice',
  shortNames: [],
  namespaced: true,
  message: 'berth.networking.v1.PodAddressSlice',
  service: 'berth.networking.v1.PodAddressSlices',
  durability: 'synced',
  hasStatus: false,
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validatePodAddressSlice,
  validateUpdate: () => [],
  fields: podAddressSliceFields,
  warnings: fieldWarnings('berth.networking.v1.PodAddressSlice', podAddressSliceFields),
  selectableFields: {},
  columns: podAddressSliceColumns,
});
