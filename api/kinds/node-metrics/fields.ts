import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a NodeMetrics. */
export const nodeMetricsFields: FieldSupportTable = {
  ...metadataFields,
  timestamp: works,
  window: works,
  usage: works,
  node: works,
  'pods[]': works,
};
