import { type FieldSupportTable, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a Lease. */
export const leaseFields: FieldSupportTable = {
  ...metadataFields,
  'spec.holderIdentity': works,
  'spec.leaseDurationSeconds': works,
  'spec.acquireTime': works,
  'spec.renewTime': works,
  'spec.leaseTransitions': works,
  'spec.strategy': warned('candidates are not compared; the first gets the lease'),
  'spec.preferredHolder': warned('a holder keeps the lease as long as it renews it'),
};
