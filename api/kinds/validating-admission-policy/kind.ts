import type { ValidatingAdmissionPolicy } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { validatingAdmissionPolicyColumns } from './columns.ts';
import { defaultValidatingAdmissionPolicy } from './defaults.ts';
import { validatingAdmissionPolicyFields } from './fields.ts';
import { validateValidatingAdmissionPolicy } from './validate.ts';

export const validatingAdmissionPolicy = defineKind<ValidatingAdmissionPolicy>()({
  kind: 'ValidatingAdmissionPolicy',
  apiVersion: 'admissionregistration.k8s.io/v1',
  plural: 'validatingadmissionpolicies',
  singular: 'validatingadmissionpolicy',
  shortNames: [],
  categories: ['api-extensions'],
  namespaced: false,
  message: 'berth.admissionregistration.v1.ValidatingAdmissionPolicy',
  service: 'berth.admissionregistration.v1.ValidatingAdmissionPolicies',
  durability: 'synced',
  shownBeforeAcknowledged: true,
  maxObjects: 1_000,
  updateNeedsVersion: true,
  hasStatus: true,
  conditionsNeed: ['type', 'status', 'once'],
  nameRule: 'subdomain',
  defaults: defaultValidatingAdmissionPolicy,
  validate: validateValidatingAdmissionPolicy,
  validateUpdate: () => [],
  warnings: fieldWarnings('berth.admissionregistration.v1.ValidatingAdmissionPolicy', validatingAdmissionPolicyFields),
  fields: validatingAdmissionPolicyFields,
  selectableFields: {},
  columns: validatingAdmissionPolicyColumns,
});
