import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a ValidatingAdmissionPolicyBinding. */
export const validatingAdmissionPolicyBindingFields: FieldSupportTable = {
  ...metadataFields,
  spec: works,
};
