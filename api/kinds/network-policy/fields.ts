import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a NetworkPolicy: nodes with the routed network enforce it. */
export const networkPolicyFields: FieldSupportTable = {
  ...metadataFields,
  spec: works,
};
