import type { CertificateSigningRequest } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { certificateApproval, conditionsNeed, keepApprovals, stampConditions } from './approval.ts';
import { certificateSigningRequestColumns } from './columns.ts';
import { certificateSigningRequestFields } from './fields.ts';
import { validateCertificateSigningRequest, validateCertificateStatus } from './validate.ts';

export const certificateSigningRequest = defineKind<CertificateSigningRequest>()({
  kind: 'CertificateSigningRequest',
  apiVersion: 'certificates.k8s.io/v1',
  plural: 'certificatesigningrequests',
  singular: 'certificatesigningrequest',
  shortNames: ['csr'],
  namespaced: false,
  message: 'berth.certificates.v1.CertificateSigningRequest',
  service: 'berth.certificates.v1.CertificateSigningRequests',
  durability: 'synced',
  hasStatus: true,
  conditionsNeed,
  generation: 'nothing',
  maxBytes: 384 * 1024,
  maxObjects: 5_000,
  maxTotalBytes: 256 * 1024 * 1024,
  subresources: { approval: certificateApproval },
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateCertificateSigningRequest,
  validateUpdate: () => [],
  validateStatusUpdate: validateCertificateStatus,
  warnings: fieldWarnings('berth.certificates.v1.CertificateSigningRequest', certificateSigningRequestFields),
  fields: certificateSigningRequestFields,
  selectableFields: { 'spec.signerName': ({ spec }) => spec?.signerName ?? '' },
  columns: certificateSigningRequestColumns,
  lifecycle: {
    /** As in Kubernetes: what was asked for stays, whatever an update says. */
    prepareForUpdate(next, previous) {
      if (previous.spec) next.spec = previous.spec;
    },
    prepareForStatusUpdate: keepApprovals,
    stamp: stampConditions,
  },
});
