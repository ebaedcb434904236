import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of an IPAddress. */
export const ipAddressFields: FieldSupportTable = { ...metadataFields, spec: works };
