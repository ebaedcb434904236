import { type FieldSupportTable, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a CertificateSigningRequest. */
export const certificateSigningRequestFields: FieldSupportTable = {
  ...metadataFields,
  'spec.request': works,
  'spec.signerName': works,
  'spec.usages[]': works,
  'spec.expirationSeconds': works,
  'spec.username': works,
  'spec.groups[]': works,
  'spec.uid': warned('users of Berth have no uid; the API server leaves it out'),
  'spec.extra': warned('users of Berth have no extra fields; the API server leaves them out'),
  status: works,
};
