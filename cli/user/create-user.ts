import { failedPrecondition } from '../../api/errors/index.ts';
import { clientSigner } from '../../api/kinds/certificate-signing-request/signers.ts';
import { CertificateOverdue, CertificateRefused, untilSigned } from '../../client/certificates/until-signed.ts';
import { type Client, systemClock } from '../../client/index.ts';
import { interruptSignal } from '../session.ts';

export interface UserWish {
  readonly name: string;
  readonly groups: readonly string[];
  readonly expirationSeconds: number;
}

/** A certificate and its key, PEM. */
export interface UserCredentials {
  readonly cert: string;
  readonly key: string;
}

/**
 * Asks the cluster for a certificate of a user, approves it and waits for it. Throws ApiErrors of the calls and
 * FAILED_PRECONDITION for a refusal.
 */
export async function issueUserCertificate(
  client: Client,
  { name, groups, expirationSeconds }: UserWish,
): Promise<UserCredentials> {
  const { createCertificateRequest } = await import('../../client/certificates/certificate-request.ts');
  const { key, request } = await createCertificateRequest(name, groups);
  const requests = client.resource('CertificateSigningRequest');
  const usages = ['digital signature', 'client auth'];
  const made = await requests.create({
    metadata: { generateName: 'user-csr-' },
    spec: { request: Buffer.from(request), signerName: clientSigner, usages, expirationSeconds },
  });
  const at = { name: made.metadata?.name ?? '' };
  const conditions = [{ type: 'Approved', status: 'True', reason: 'CreateUser', message: 'approved by who made it' }];
  await requests.patch({ ...at, subresource: 'approval', type: 'strategic' }, { status: { conditions } });
  try {
    const { certificate } = await untilSigned({ client: requests, ...at, clock: systemClock, signal: interruptSignal() });
    return { cert: certificate, key };
  } catch (error) {
    if (error instanceof CertificateRefused) throw failedPrecondition('Refused', error.message);
    if (error instanceof CertificateOverdue) throw failedPrecondition('NotSigned', error.message);
    throw error;
  }
}
