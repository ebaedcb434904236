import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';
import { templateFields } from '../pod-template/fields.ts';

/** What Berth does with each field of a ReplicaSet. */
export const replicaSetFields: FieldSupportTable = {
  ...metadataFields,
  'spec.replicas': works,
  'spec.minReadySeconds': works,
  'spec.selector': works,
  ...templateFields('spec.template', 'ReplicaSet'),
  status: works,
};
