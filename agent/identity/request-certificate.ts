import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import { nodeClientSigner } from '../../api/kinds/certificate-signing-request/signers.ts';
import { annotations } from '../../api/meta/well-known.ts';
import { untilSigned } from '../../client/certificates/until-signed.ts';
import type { Clock } from '../../client/clock.ts';
import type { ResourceClient } from '../../client/services/resource-client.ts';

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

/**
 * Asks the API for a certificate of a node with a new key, and waits until it is there. Throws what untilSigned
 * throws.
 */
export async function requestCertificate({ client, nodeName, clock, signal }: CertificateWish): Promise<IssuedCertificate> {
  const { createCertificateRequest } = await import('../../client/certificates/certificate-request.ts');
  const { key, request } = await createCertificateRequest(`system:node:${nodeName}`, ['system:nodes']);
  const asked = await client.create(
    {
      metadata: { generateName: 'node-csr-' },
      spec: { request: Buffer.from(request), signerName: nodeClientSigner, usages: ['digital signature', 'client auth'] },
    },
    {},
    { signal },
  );
  const name = asked.metadata?.name ?? '';
  const signed = await untilSigned({ client, name, clock, signal });
  const serverVersion = signed.request.metadata?.annotations?.[annotations.serverVersion];
  return { certificate: signed.certificate, key, serverVersion };
}
