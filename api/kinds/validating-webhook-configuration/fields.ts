import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a ValidatingWebhookConfiguration. */
export const validatingWebhookConfigurationFields: FieldSupportTable = {
  ...metadataFields,
  'webhooks[]': works,
};
