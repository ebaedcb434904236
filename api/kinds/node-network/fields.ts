import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a NodeNetwork. */
export const nodeNetworkFields: FieldSupportTable = {
  ...metadataFields,
  'addresses[]': works,
  'podCIDRs[]': works,
  'clusterCIDRs[]': works,
  'serviceCIDRs[]': works,
  clusterDomain: works,
};
