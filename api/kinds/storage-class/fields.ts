import { type FieldSupportTable, refused, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a StorageClass. */
export const storageClassFields: FieldSupportTable = {
  ...metadataFields,
  provisioner: works,
  parameters: works,
  reclaimPolicy: works,
  'mountOptions[]': refused('a folder of the node is mounted as it is; mount it with these options on the node'),
  allowVolumeExpansion: warned('the volumes of claims are not made larger'),
  volumeBindingMode: works,
  'allowedTopologies[]': works,
};
