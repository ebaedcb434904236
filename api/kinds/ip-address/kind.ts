import type { IPAddress } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { ipAddressColumns } from './columns.ts';
import { ipAddressFields } from './fields.ts';
import { validateIpAddress, validateIpAddressUpdate } from './validate.ts';

export const ipAddress = defineKind<IPAddress>()({
  kind: 'IPAddress',
  apiVersion: 'networking.k8s.io/v1',
  plural: 'ipaddresses',
  singular: 'ipaddress',
  shortNames: ['ip'],
  namespaced: false,
  message: 'berth.networking.v1.IPAddress',
  service: 'berth.networking.v1.IPAddresses',
  durability: 'synced',
  // A Service that is created next must not get the address.
  shownBeforeAcknowledged: true,
  hasStatus: false,
  generation: 'nothing',
  nameRule: 'ip',
  defaults: () => {},
  validate: validateIpAddress,
  validateUpdate: validateIpAddressUpdate,
  warnings: fieldWarnings('berth.networking.v1.IPAddress', ipAddressFields),
  fields: ipAddressFields,
  selectableFields: {},
  columns: ipAddressColumns,
});
