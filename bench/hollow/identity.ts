import { type HeldCertificate, holdCertificate } from '../../agent/main.ts';
import { isTimeout, isUnavailable } from '../../api/errors/index.ts';
import { nodeClientSigner } from '../../api/kinds/certificate-signing-request/signers.ts';
import { createCertificateRequest } from '../../client/certificates/certificate-request.ts';
import { untilSigned } from '../../client/certificates/until-signed.ts';
import { type Clock, pause } from '../../client/clock.ts';
import { type Client, createBackoff } from '../../client/index.ts';

export interface IdentityWish {
  /** An administrator's. */
  readonly client: Client;
  readonly nodeName: string;
  /** The cluster's authorities, PEM. */
  readonly ca: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A machine that starts hundreds of agents may leave a connection without answers for longer than it lives. */
const attempts = 5;
const waits = { initialMs: 500, maxMs: 5_000 };

/**
 * Gets a node's certificate from the API, as a machine that joins does, and approves it as administrator: that needs no
 * controllers. Kept in memory; the agent renews it. Tries again when the server does not answer. Throws ApiErrors of
 * the calls, and what untilSigned throws.
 */
export async function issueIdentity(wish: IdentityWish): Promise<HeldCertificate> {
  const backoff = createBackoff(waits);
  for (let attempt = 1; ; attempt++) {
    try {
      return await issueOnce(wish);
    } catch (error) {
      const isUnanswered = isUnavailable(error) || isTimeout(error);
      if (!isUnanswered || attempt === attempts || wish.signal.aborted) throw error;
      await pause(backoff.next(), wish.signal, wish.clock);
      wish.signal.throwIfAborted();
    }
  }
}

async function issueOnce({ client, nodeName, ca, clock, signal }: IdentityWish): Promise<HeldCertificate> {
  const { key, request } = await createCertificateRequest(`system:node:${nodeName}`, ['system:nodes']);
  const requests = client.resource('CertificateSigningRequest');
  const usages = ['digital signature', 'client auth'];
  const made = await requests.create(
    {
      metadata: { generateName: 'hollow-csr-' },
      spec: { request: Buffer.from(request), signerName: nodeClientSigner, usages },
    },
    {},
    { signal },
  );
  const name = made.metadata?.name ?? '';
  const conditions = [
    { type: 'Approved', status: 'True', reason: 'HollowNode', message: 'approved by who started the hollow nodes' },
  ];
  await requests.patch({ name, subresource: 'approval' }, { status: { conditions } }, {}, { signal });
  const { certificate } = await untilSigned({ client: requests, name, clock, signal });
  return holdCertificate({ first: { certificate, key, ca }, save: async () => {} });
}
