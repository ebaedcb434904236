import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';
import { templateFields } from '../pod-template/fields.ts';

/** What Berth does with each field of a DaemonSet. */
export const daemonSetFields: FieldSupportTable = {
  ...metadataFields,
  'spec.selector': works,
  ...templateFields('spec.template', 'DaemonSet'),
  'spec.updateStrategy': works,
  'spec.minReadySeconds': works,
  'spec.revisionHistoryLimit': works,
  status: works,
};
