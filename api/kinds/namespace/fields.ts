import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a Namespace. */
export const namespaceFields: FieldSupportTable = {
  ...metadataFields,
  'spec.finalizers[]': works,
  status: works,
};
