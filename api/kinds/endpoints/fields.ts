import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of Endpoints. */
export const endpointsFields: FieldSupportTable = { ...metadataFields, 'subsets[]': works };
