import { setTimeout as delay } from 'node:timers/promises';
import { failedPrecondition } from '../../api/errors/index.ts';
import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import { refusalOf } from '../../api/kinds/certificate-signing-request/approval.ts';
import { clientSigner } from '../../api/kinds/certificate-signing-request/signers.ts';
import { textOf } from '../../api/kinds/certificate-signing-request/text.ts';
import type { Client } from '../../client/index.ts';

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

const pauseMs = 50;
const patienceMs = 15_000;

/** Asks the cluster for a certificate of a user, approves it and waits for it. Throws ApiErrors of the calls and FAILED_PRECONDITION for a refusal. */
export async function issueUserCertificate(
  client: Client,
  { name, groups, expirationSeconds }: UserWish,
): Promise<UserCredentials> {
  const { createUserRequest } = await import('./certificate-request.ts');
  const { key, request } = await createUserRequest(name, groups);
  const requests = client.resource('CertificateSigningRequest');
  const usages = ['digital signature', 'client auth'];
  const made = await requests.create({
    metadata: { generateName: 'user-csr-' },
    spec: { request: Buffer.from(request), signerName: clientSigner, usages, expirationSeconds },
  });
  const at = { name: made.metadata?.name ?? '' };
  const conditions = [{ type: 'Approved', status: 'True', reason: 'CreateUser', message: 'approved by who made it' }];
  await requests.patch({ ...at, subresource: 'approval' }, { status: { conditions } });
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const cert = certificateIn(await requests.get(at));
    if (cert !== '') return { cert, key };
    if (Date.now() > deadline)
      throw failedPrecondition(
        'NotSigned',
        `nobody has signed the request "${at.name}" in ${patienceMs / 1_000} s: look at it with "berth get csr"`,
      );
    await delay(pauseMs);
  }
}

function certificateIn(request: CertificateSigningRequest): string {
  const refusal = refusalOf(request);
  if (refusal) throw failedPrecondition('Refused', refusal.message || refusal.reason || 'the request was refused');
  return textOf(request.status?.certificate);
}
