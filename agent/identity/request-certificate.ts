import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import { refusalOf } from '../../api/kinds/certificate-signing-request/approval.ts';
import { nodeClientSigner } from '../../api/kinds/certificate-signing-request/signers.ts';
import { textOf } from '../../api/kinds/certificate-signing-request/text.ts';
import { annotations } from '../../api/meta/well-known.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { ResourceClient } from '../../client/resource-client.ts';

/** A certificate of a node and its key, PEM. */
export interface NodeCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface IssuedCertificate extends NodeCertificate {
  /** Of the server that issued it, e.g. "0.1.0". */
  readonly serverVersion: string | undefined;
}

export interface CertificateWish {
  readonly client: Pick<ResourceClient<CertificateSigningRequest>, 'create' | 'get'>;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The approver or the signer said no; the message is the reason, for people. */
export class CertificateRefused extends Error {}

const firstPauseMs = 25;
const longestPauseMs = 1_000;
const patienceMs = 30_000;

/**
 * Asks the API for a certificate of a node with a new key, and waits until it is there. Throws CertificateRefused when the answer is no, an Error when there
 * is none for 30 s, and ApiErrors of the calls.
 */
export async function requestCertificate({ client, nodeName, clock, signal }: CertificateWish): Promise<IssuedCertificate> {
  const { createNodeRequest } = await import('./node-request.ts');
  const { key, request } = await createNodeRequest(nodeName);
  const asked = await client.create(
    {
      metadata: { generateName: 'node-csr-' },
      spec: { request: Buffer.from(request), signerName: nodeClientSigner, usages: ['digital signature', 'client auth'] },
    },
    {},
    { signal },
  );
  const name = asked.metadata?.name ?? '';
  const deadline = clock.now() + patienceMs;
  for (let wait = firstPauseMs; clock.now() < deadline; wait = Math.min(wait * 1.5, longestPauseMs)) {
    const now = await client.get({ name }, { signal });
    const refusal = refusalOf(now);
    if (refusal) throw new CertificateRefused(refusal.message || refusal.reason || 'the request was denied');
    const certificate = textOf(now.status?.certificate);
    if (certificate !== '') return { certificate, key, serverVersion: now.metadata?.annotations?.[annotations.serverVersion] };
    await pause(wait, signal, clock);
    signal.throwIfAborted();
  }
  throw new Error(
    `nobody has answered the request ${name} for a certificate in ${patienceMs / 1000} s: do the controllers of the server run? "berth get csr ${name}" there says what became of it`,
  );
}
