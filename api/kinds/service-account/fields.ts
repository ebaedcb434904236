import { type FieldSupportTable, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a ServiceAccount. */
export const serviceAccountFields: FieldSupportTable = {
  ...metadataFields,
  'secrets[]': warned('nothing reads them; make tokens with berth create token'),
  'imagePullSecrets[]': works,
  automountServiceAccountToken: works,
};
