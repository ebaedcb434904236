import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a ResourceQuota. */
export const resourceQuotaFields: FieldSupportTable = {
  ...metadataFields,
  'spec.hard': works,
  'spec.scopes[]': works,
  'spec.scopeSelector.matchExpressions[]': works,
  status: works,
};
