import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a RoleBinding. */
export const roleBindingFields: FieldSupportTable = {
  ...metadataFields,
  'subjects[]': works,
  roleRef: works,
};
