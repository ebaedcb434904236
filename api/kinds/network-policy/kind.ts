import type { NetworkPolicy } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { networkPolicyColumns } from './columns.ts';
import { defaultNetworkPolicy } from './defaults.ts';
import { networkPolicyFields } from './fields.ts';
import { sctpWarnings } from './sctp-warnings.ts';
import { validateNetworkPolicy } from './validate.ts';

const warnOfFields = fieldWarnings('berth.networking.v1.NetworkPolicy', networkPolicyFields);

export const networkPolicy = defineKind<NetworkPolicy>()({
  kind: 'NetworkPolicy',
  apiVersion: 'networking.k8s.io/v1',
  plural: 'networkpolicies',
  singular: 'networkpolicy',
  shortNames: ['netpol'],
  namespaced: true,
  message: 'berth.networking.v1.NetworkPolicy',
  service: 'berth.networking.v1.NetworkPolicies',
  durability: 'synced',
  hasStatus: false,
  nameRule: 'subdomain',
  defaults: defaultNetworkPolicy,
  validate: validateNetworkPolicy,
  validateUpdate: () => [],
  warnings: (policy) => [...warnOfFields(policy), ...sctpWarnings(policy)],
  fields: networkPolicyFields,
  selectableFields: {},
  columns: networkPolicyColumns,
});
