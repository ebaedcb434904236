import { type FieldSupportTable, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a Service: it keeps them. */
export const serviceFields: FieldSupportTable = {
  ...metadataFields,
  spec: warned('Services get addresses and names from a later version on: nothing acts on it yet'),
  status: works,
};
