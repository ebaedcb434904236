import { type FieldSupportTable, refused, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

const noContent = refused('volumes are not made of others; the claim would get an empty one, or one with other data');

/** What Berth does with each field of a PersistentVolumeClaim. */
export const persistentVolumeClaimFields: FieldSupportTable = {
  ...metadataFields,
  'spec.accessModes[]': works,
  'spec.selector': works,
  'spec.resources.requests': works,
  'spec.resources.limits': warned('a volume is chosen by what is requested, and nothing limits what is written to it'),
  'spec.volumeName': works,
  'spec.storageClassName': works,
  'spec.volumeMode': refused('volumes are mounted as folders only', '', 'Filesystem'),
  'spec.dataSource': noContent,
  'spec.dataSourceRef': noContent,
  'spec.volumeAttributesClassName': refused('volume attributes classes do not exist; the settings of a volume do not change'),
  status: works,
};
