import { type FieldSupportTable, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a FlowSchema, which it only stores. */
export const flowSchemaFields: FieldSupportTable = {
  ...metadataFields,
  spec: warned('the server does not sort requests into flows, and holds back each user alone'),
  status: works,
};
