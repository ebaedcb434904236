import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a Service: nodes with the routed network carry it. */
export const serviceFields: FieldSupportTable = {
  ...metadataFields,
  spec: works,
  status: works,
};
