import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a PodDisruptionBudget. */
export const podDisruptionBudgetFields: FieldSupportTable = {
  ...metadataFields,
  'spec.minAvailable': works,
  'spec.maxUnavailable': works,
  'spec.selector': works,
  'spec.unhealthyPodEvictionPolicy': works,
  status: works,
};
