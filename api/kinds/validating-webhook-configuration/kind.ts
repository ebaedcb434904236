import type { ValidatingWebhookConfiguration } from '../../generated/types.ts';
import type { Violations } from '../checks.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { checkWebhooks, defaultWebhook } from '../webhooks.ts';
import { validatingWebhookConfigurationColumns } from './columns.ts';
import { validatingWebhookConfigurationFields } from './fields.ts';

const fieldsOf = fieldWarnings(
  'berth.admissionregistration.v1.ValidatingWebhookConfiguration',
  validatingWebhookConfigurationFields,
);

export const validatingWebhookConfiguration = defineKind<ValidatingWebhookConfiguration>()({
  kind: 'ValidatingWebhookConfiguration',
  apiVersion: 'admissionregistration.k8s.io/v1',
  plural: 'validatingwebhookconfigurations',
  singular: 'validatingwebhookconfiguration',
  shortNames: [],
  categories: ['api-extensions'],
  namespaced: false,
  message: 'berth.admissionregistration.v1.ValidatingWebhookConfiguration',
  service: 'berth.admissionregistration.v1.ValidatingWebhookConfigurations',
  durability: 'synced',
  shownBeforeAcknowledged: true,
  updateNeedsVersion: true,
  hasStatus: false,
  generation: 'content',
  nameRule: 'subdomain',
  defaults: ({ webhooks = [] }) => webhooks.forEach(defaultWebhook),
  validate({ webhooks = [] }) {
    const out: Violations = [];
    checkWebhooks(out, webhooks);
    return out;
  },
  validateUpdate: () => [],
  warnings: fieldsOf,
  fields: validatingWebhookConfigurationFields,
  selectableFields: {},
  columns: validatingWebhookConfigurationColumns,
});
