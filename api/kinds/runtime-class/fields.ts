import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a RuntimeClass. */
export const runtimeClassFields: FieldSupportTable = {
  ...metadataFields,
  handler: works,
  'overhead.podFixed': works,
  'scheduling.nodeSelector': works,
  'scheduling.tolerations[]': works,
};
