import type { ServiceCIDR } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { serviceCidrColumns } from './columns.ts';
import { ownServiceCidr, readyCondition, serviceCidrFields } from './fields.ts';
import { validateServiceCidr, validateServiceCidrUpdate } from './validate.ts';

const warnings = fieldWarnings('berth.networking.v1.ServiceCIDR', serviceCidrFields);

export const serviceCidr = defineKind<ServiceCIDR>()({
  kind: 'ServiceCIDR',
  apiVersion: 'networking.k8s.io/v1',
  plural: 'servicecidrs',
  singular: 'servicecidr',
  shortNames: [],
  namespaced: false,
  message: 'berth.networking.v1.ServiceCIDR',
  service: 'berth.networking.v1.ServiceCIDRs',
  durability: 'synced',
  hasStatus: true,
  generation: 'nothing',
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateServiceCidr,
  validateUpdate: validateServiceCidrUpdate,
  // The server's own range is acted on.
  warnings: (object) => (object.metadata?.name === ownServiceCidr ? [] : warnings(object)),
  fields: serviceCidrFields,
  selectableFields: {},
  columns: serviceCidrColumns,
  lifecycle: {
    prepareForCreate(object) {
      object.status = { conditions: [readyCondition(object.metadata)] };
    },
  },
});
