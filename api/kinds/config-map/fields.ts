import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a ConfigMap. */
export const configMapFields: FieldSupportTable = {
  ...metadataFields,
  immutable: works,
  data: works,
  binaryData: works,
};
