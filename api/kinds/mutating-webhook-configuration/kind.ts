import type { MutatingWebhookConfiguration } from '../../generated/types.ts';
import { checkOneOf, type Violations } from '../checks.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { checkWebhooks, defaultWebhook } from '../webhooks.ts';
import { mutatingWebhookConfigurationColumns } from './columns.ts';
import { mutatingWebhookConfigurationFields } from './fields.ts';

const fieldsOf = fieldWarnings('berth.admissionregistration.v1.MutatingWebhookConfiguration', mutatingWebhookConfigurationFields);

export const mutatingWebhookConfiguration = defineKind<MutatingWebhookConfiguration>()({
  kind: 'MutatingWebhookConfiguration',
  apiVersion: 'admissionregistration.k8s.io/v1',
  plural: 'mutatingwebhookconfigurations',
  singular: 'mutatingwebhookconfiguration',
  shortNames: [],
  categories: ['api-extensions'],
  namespaced: false,
  message: 'berth.admissionregistration.v1.MutatingWebhookConfiguration',
  service: 'berth.admissionregistration.v1.MutatingWebhookConfigurations',
  durability: 'synced',
  shownBeforeAcknowledged: true,
  updateNeedsVersion: true,
  hasStatus: false,
  generation: 'content',
  nameRule: 'subdomain',
  defaults({ webhooks = [] }) {
    for (const webhook of webhooks) {
      defaultWebhook(webhook);
      webhook.reinvocationPolicy ||= 'Never';
    }
  },
  validate({ webhooks = [] }) {
    const out: Violations = [];
    checkWebhooks(out, webhooks);
    for (const [i, { reinvocationPolicy }] of webhooks.entries())
      checkOneOf(out, `webhooks[${i}]`, '.reinvocationPolicy', reinvocationPolicy, ['Never', 'IfNeeded']);
    return out;
  },
  validateUpdate: () => [],
  warnings: fieldsOf,
  fields: mutatingWebhookConfigurationFields,
  selectableFields: {},
  columns: mutatingWebhookConfigurationColumns,
});
