import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';
import { templateFields } from '../pod-template/fields.ts';

/** What Berth does with each field of a Deployment. */
export const deploymentFields: FieldSupportTable = {
  ...metadataFields,
  'spec.replicas': works,
  'spec.selector': works,
  // Its ReplicaSets keep the pods running.
  ...templateFields('spec.template', 'ReplicaSet'),
  'spec.strategy': works,
  'spec.minReadySeconds': works,
  'spec.revisionHistoryLimit': works,
  'spec.paused': works,
  'spec.progressDeadlineSeconds': works,
  status: works,
};
