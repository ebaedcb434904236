import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a PodAddressSlice. */
export const podAddressSliceFields: FieldSupportTable = {
  ...metadataFields,
  namespaceLabels: works,
  'pods[]': works,
};
