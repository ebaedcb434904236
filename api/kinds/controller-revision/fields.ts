import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a ControllerRevision. */
export const controllerRevisionFields: FieldSupportTable = { ...metadataFields, data: works, revision: works };
