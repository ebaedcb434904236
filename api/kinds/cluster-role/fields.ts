import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a ClusterRole. */
export const clusterRoleFields: FieldSupportTable = {
  ...metadataFields,
  'rules[]': works,
  aggregationRule: works,
};
