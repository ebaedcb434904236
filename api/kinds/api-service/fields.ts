import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of an APIService. */
export const apiServiceFields: FieldSupportTable = {
  ...metadataFields,
  spec: works,
  status: works,
};
