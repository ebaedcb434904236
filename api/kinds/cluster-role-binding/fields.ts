import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a ClusterRoleBinding. */
export const clusterRoleBindingFields: FieldSupportTable = {
  ...metadataFields,
  'subjects[]': works,
  roleRef: works,
};
