import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a Role. */
export const roleFields: FieldSupportTable = {
  ...metadataFields,
  'rules[]': works,
};
