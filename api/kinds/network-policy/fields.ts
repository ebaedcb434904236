import { type FieldSupportTable, warned } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a NetworkPolicy. */
export const networkPolicyFields: FieldSupportTable = {
  ...metadataFields,
  // To be `works` once agents enforce policies.
  spec: warned('stored; nodes do not enforce network policies yet'),
};
