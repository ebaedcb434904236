import type { ValidatingAdmissionPolicyBinding } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { defaultMatchResources } from '../match-resources.ts';
import { validatingAdmissionPolicyBindingColumns } from './columns.ts';
import { validatingAdmissionPolicyBindingFields } from './fields.ts';
import { validateValidatingAdmissionPolicyBinding } from './validate.ts';

export const validatingAdmissionPolicyBinding = defineKind<ValidatingAdmissionPolicyBinding>()({
  kind: 'ValidatingAdmissionPolicyBinding',
  apiVersion: 'admissionregistration.k8s.io/v1',
  plural: 'validatingadmissionpolicybindings',
  singular: 'validatingadmissionpolicybinding',
  shortNames: [],
  categories: ['api-extensions'],
  namespaced: false,
  message: 'berth.admissionregistration.v1.ValidatingAdmissionPolicyBinding',
  service: 'berth.admissionregistration.v1.ValidatingAdmissionPolicyBindings',
  durability: 'synced',
  shownBeforeAcknowledged: true,
  maxObjects: 1_000,
  updateNeedsVersion: true,
  hasStatus: false,
  nameRule: 'subdomain',
  defaults: ({ spec }) => defaultMatchResources(spec?.matchResources),
  validate: validateValidatingAdmissionPolicyBinding,
  validateUpdate: () => [],
  warnings: fieldWarnings(
    'berth.admissionregistration.v1.ValidatingAdmissionPolicyBinding',
    validatingAdmissionPolicyBindingFields,
  ),
  fields: validatingAdmissionPolicyBindingFields,
  selectableFields: {},
  columns: validatingAdmissionPolicyBindingColumns,
});
