import { type FieldSupportTable, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a CSIStorageCapacity, which it only stores. */
export const csiStorageCapacityFields: FieldSupportTable = {
  ...metadataFields,
  storageClassName: warned('the scheduler does not ask how much room there is for volumes'),
  nodeTopology: works,
  capacity: works,
  maximumVolumeSize: works,
};
