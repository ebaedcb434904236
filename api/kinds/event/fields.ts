import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of an Event. */
export const eventFields: FieldSupportTable = {
  ...metadataFields,
  involvedObject: works,
  reason: works,
  message: works,
  source: works,
  firstTimestamp: works,
  lastTimestamp: works,
  count: works,
  type: works,
  eventTime: works,
  series: works,
  action: works,
  related: works,
  reportingComponent: works,
  reportingInstance: works,
};
