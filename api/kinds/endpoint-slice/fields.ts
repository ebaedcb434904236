import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of an EndpointSlice. */
export const endpointSliceFields: FieldSupportTable = {
  ...metadataFields,
  addressType: works,
  'endpoints[]': works,
  'ports[]': works,
};
