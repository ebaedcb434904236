import { type FieldSupportTable, warned } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a ServiceAccount. */
export const serviceAccountFields: FieldSupportTable = {
  ...metadataFields,
  'secrets[]': warned('nothing reads them; make tokens with berth create token'),
  'imagePullSecrets[]': warned('pods of the account do not get them; name them in the pod'),
  automountServiceAccountToken: warned('no pod gets a token yet', false),
};
