import { type FieldSupportTable, warned } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a ValidatingWebhookConfiguration. */
export const validatingWebhookConfigurationFields: FieldSupportTable = {
  ...metadataFields,
  'webhooks[]': warned('the server does not call webhooks yet'),
};
