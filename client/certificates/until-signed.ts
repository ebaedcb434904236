import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import { refusalOf } from '../../api/kinds/certificate-signing-request/approval.ts';
import { textOf } from '../../api/kinds/certificate-signing-request/text.ts';
import { type Clock, pause } from '../clock.ts';
import type { ResourceClient } from '../services/resource-client.ts';

/** The approver or the signer said no; the message is the reason, for people. */
export class CertificateRefused extends Error {}

/** The request was not signed in time. */
export class CertificateOverdue extends Error {}

export interface SigningWait {
  readonly client: Pick<ResourceClient<CertificateSigningRequest>, 'get'>;
  /** Of the CertificateSigningRequest. */
  readonly name: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface SignedCertificate {
  /** PEM. */
  readonly certificate: string;
  readonly request: CertificateSigningRequest;
}

const firstPauseMs = 25;
const longestPauseMs = 1_000;
const patienceMs = 30_000;

/**
 * Waits at most 30 s for the certificate that was asked for. Throws CertificateRefused, CertificateOverdue,
 * and ApiErrors of the calls.
 */
export async function untilSigned({ client, name, clock, signal }: SigningWait): Promise<SignedCertificate> {
  const deadline = clock.now() + patienceMs;
  for (let wait = firstPauseMs; clock.now() < deadline; wait = Math.min(wait * 1.5, longestPauseMs)) {
    const request = await client.get({ name }, { signal });
    const refusal = refusalOf(request);
    if (refusal) throw new CertificateRefused(refusal.message || refusal.reason || 'the request was denied');
    const certificate = textOf(request.status?.certificate);
    if (certificate !== '') return { certificate, request };
    await pause(wait, signal, clock);
    signal.throwIfAborted();
  }
  throw new CertificateOverdue(
    `the request ${name} for a certificate was not answered in ${patienceMs / 1000} s: do the controllers of the server run? "berth get csr ${name}" there says what became of it`,
  );
}
