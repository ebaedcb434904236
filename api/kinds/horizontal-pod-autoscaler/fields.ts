import { type FieldSupportTable, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

const notMeasured = warned('only CPU and memory of pods are measured; the value of this metric stays unknown');

/** What Berth does with each field of a HorizontalPodAutoscaler. */
export const horizontalPodAutoscalerFields: FieldSupportTable = {
  ...metadataFields,
  'spec.scaleTargetRef': works,
  'spec.minReplicas': works,
  'spec.maxReplicas': works,
  'spec.metrics[].type': works,
  'spec.metrics[].resource': works,
  'spec.metrics[].containerResource': works,
  'spec.metrics[].pods': notMeasured,
  'spec.metrics[].object': notMeasured,
  'spec.metrics[].external': notMeasured,
  'spec.behavior': works,
  status: works,
};
