import type { Lease } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { changesHolder } from './changes-holder.ts';
import { leaseColumns } from './columns.ts';
import { leaseFields } from './fields.ts';
import { validateLease } from './validate.ts';

export const lease = defineKind<Lease>()({
  kind: 'Lease',
  apiVersion: 'coordination.k8s.io/v1',
  plural: 'leases',
  singular: 'lease',
  shortNames: [],
  namespaced: true,
  message: 'berth.coordination.v1.Lease',
  service: 'berth.coordination.v1.Leases',
  durability: 'relaxed',
  awaitsDisk: changesHolder,
  hasStatus: false,
  generation: 'nothing',
  isCreatedByPut: true,
  updateNeedsVersion: true,
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateLease,
  validateUpdate: () => [],
  fields: leaseFields,
  warnings: fieldWarnings('berth.coordination.v1.Lease', leaseFields),
  selectableFields: {},
  columns: leaseColumns,
});
