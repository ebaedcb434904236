import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a Secret. */
export const secretFields: FieldSupportTable = {
  ...metadataFields,
  immutable: works,
  data: works,
  stringData: works,
  type: works,
};
