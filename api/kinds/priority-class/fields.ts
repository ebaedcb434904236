import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a PriorityClass. */
export const priorityClassFields: FieldSupportTable = {
  ...metadataFields,
  value: works,
  globalDefault: works,
  description: works,
  preemptionPolicy: works,
};
