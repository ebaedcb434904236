import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, forbidden, invalidValue, notSupported, required } from '../../errors/violations.ts';
import type { CertificateSigningRequest } from '../../generated/types.ts';
import { subdomainNameError } from '../../meta/names.ts';
import { checkRange, type Violations } from '../checks.ts';
import { checkApprovalsUnchanged } from './approval.ts';
import { textOf } from './text.ts';

/** Kubernetes' words for what a certificate may be used for. */
const usages: readonly string[] = [
  'signing',
  'digital signature',
  'content commitment',
  'key encipherment',
  'key agreement',
  'data encipherment',
  'cert sign',
  'crl sign',
  'encipher only',
  'decipher only',
  'any',
  'server auth',
  'client auth',
  'code signing',
  'email protection',
  's/mime',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'timestamping',
  'ocsp signing',
  'microsoft sgc',
  'netscape sgc',
];
const leastSeconds = 600;
const mostBytes = 64 * 1024;
const requestForm = /^\s*-----BEGIN CERTIFICATE REQUEST-----\r?\n[A-Za-z0-9+/=\s]+-----END CERTIFICATE REQUEST-----\s*$/;
const certificateForm = /^\s*(-----BEGIN CERTIFICATE-----\r?\n[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+$/;

/** The form of it; what is asked for is the approver's and the signer's to judge. */
export function validateCertificateSigningRequest({ spec = {} }: CertificateSigningRequest): FieldViolation[] {
  const out: Violations = [];
  checkRequest(out, spec.request);
  checkSignerName(out, spec.signerName ?? '');
  if (!spec.usages?.length) out.push(required('spec.usages', 'say what the certificate is for, e.g. "client auth"'));
  for (const [i, usage] of (spec.usages ?? []).entries()) {
    if (!usages.includes(usage)) out.push(notSupported(`spec.usages[${i}]`, usage, usages));
    else if (spec.usages?.indexOf(usage) !== i) out.push(duplicate(`spec.usages[${i}]`, usage));
  }
  checkRange(out, 'spec', '.expirationSeconds', spec.expirationSeconds, leastSeconds);
  return out;
}

function checkRequest(out: Violations, request: Buffer | undefined): void {
  const text = textOf(request);
  if (text === '') out.push(required('spec.request'));
  else if (text.length > mostBytes || !requestForm.test(text))
    out.push(invalidValue('spec.request', '(not shown)', 'must be one PKCS #10 request in PEM ("CERTIFICATE REQUEST")'));
}

function checkSignerName(out: Violations, name: string): void {
  const [domain = '', path = '', ...more] = name.split('/');
  if (name === '') out.push(required('spec.signerName'));
  else if (name === 'kubernetes.io/legacy-unknown')
    out.push(invalidValue('spec.signerName', name, 'the legacy signerName is not allowed via this API version'));
  else if (more.length > 0 || subdomainNameError(domain) || !domain.includes('.') || subdomainNameError(path))
    out.push(invalidValue('spec.signerName', name, 'must be DOMAIN/NAME, e.g. "kubernetes.io/kube-apiserver-client-kubelet"'));
}

/** A certificate that was given stays. */
export function validateCertificateStatus(
  next: CertificateSigningRequest,
  previous: CertificateSigningRequest,
): FieldViolation[] {
  const out = checkApprovalsUnchanged(next, previous);
  const [is, was] = [textOf(next.status?.certificate), textOf(previous.status?.certificate)];
  if (was !== '' && is !== was) out.push(forbidden('status.certificate', 'cannot change once it was issued'));
  else if (is !== '' && !certificateForm.test(is))
    out.push(invalidValue('status.certificate', '(not shown)', 'must be certificates in PEM ("CERTIFICATE")'));
  return out;
}
