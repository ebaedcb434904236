import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a LimitRange. */
export const limitRangeFields: FieldSupportTable = {
  ...metadataFields,
  'spec.limits[].type': works,
  'spec.limits[].max': works,
  'spec.limits[].min': works,
  'spec.limits[].default': works,
  'spec.limits[].defaultRequest': works,
  'spec.limits[].maxLimitRequestRatio': works,
};
