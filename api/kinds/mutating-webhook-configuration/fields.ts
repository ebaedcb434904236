import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a MutatingWebhookConfiguration. */
export const mutatingWebhookConfigurationFields: FieldSupportTable = {
  ...metadataFields,
  'webhooks[]': works,
};
