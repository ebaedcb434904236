import { isNotFound } from '../../api/errors/index.ts';
import type { CertificateSigningRequest, Node } from '../../api/generated/types.ts';
import { nodeClientSigner } from '../../api/kinds/certificate-signing-request/signers.ts';
import { textOf } from '../../api/kinds/certificate-signing-request/text.ts';
import { secondsTimestamp, toRfc3339 } from '../../api/meta/time.ts';
import type { Client, Clock, Informer, Logger, ResourceClient } from '../../client/index.ts';
import { type Controller, changesOf } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { rule } from '../rules.ts';
import { createWakes } from '../wakes.ts';
import { decideRequest, nodeNameIn, type RequestAction } from './decide.ts';

export interface CertificateRequestsOptions {
  readonly client: { readonly nodes: Pick<Client['nodes'], 'get'> };
  readonly requests: Pick<Informer<CertificateSigningRequest>, 'lister' | 'addHandler' | 'waitForSync'>;
  readonly requestClient: Pick<ResourceClient<CertificateSigningRequest>, 'patch' | 'delete'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Approves or denies requests for certificates of nodes, and removes old requests.
 * The API server signs what is approved.
 */
export function createCertificateRequests(options: CertificateRequestsOptions): Controller {
  const { client, requests, requestClient, clock, logger } = options;
  const wakes = createWakes(clock);

  async function reconcile(name: string, signal: AbortSignal): Promise<void> {
    const request = requests.lister.get(name);
    if (request === undefined) return wakes.forget(name);
    const { readRequestFacts } = await import('./request-facts.ts');
    const facts = await readRequestFacts(textOf(request.spec?.request));
    const action = decideRequest({ request, facts, node: await nodeNamed(nodeNameIn(facts), signal), now: clock.now() });
    if (action.type === 'wait') return wakes.at(name, action.ms);
    if (action.type === 'remove') return remove(request, signal);
    await answer(request, action, signal);
  }

  async function nodeNamed(name: string | undefined, signal: AbortSignal): Promise<Node | undefined> {
    if (!name) return undefined;
    try {
      return await client.nodes.get({ name }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function answer(
    { metadata, spec }: CertificateSigningRequest,
    { type, reason, message }: Extract<RequestAction, { type: 'approve' | 'deny' }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { name = '', uid, resourceVersion } = metadata ?? {};
    const now = toRfc3339(secondsTimestamp(new Date(clock.now())));
    const condition = {
      type: type === 'approve' ? 'Approved' : 'Denied',
      status: 'True',
      reason,
      message,
      lastUpdateTime: now,
      lastTransitionTime: now,
    };
    const patch = { metadata: { uid, resourceVersion }, status: { conditions: [condition] } };
    await requestClient.patch({ name, subresource: 'approval', type: 'strategic' }, patch, {}, { signal });
    logger.info(
      { request: name, requester: spec?.username, answer: condition.type, message },
      'answered a request for a certificate',
    );
  }

  async function remove({ metadata }: CertificateSigningRequest, signal: AbortSignal): Promise<void> {
    const { name = '', uid } = metadata ?? {};
    try {
      await requestClient.delete({ name }, { preconditions: { uid } }, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  return {
    name: 'certificate-requests',
    sources: [changesOf(requests, ({ metadata }) => [metadata?.name ?? '']), wakes],
    reconcile,
  };
}

export const certificateRequests: ControllerDefinition = {
  name: 'certificate-requests',
  rules: [
    rule(['update', 'patch'], 'certificates.k8s.io', 'certificatesigningrequests/approval'),
    { ...rule(['approve'], 'certificates.k8s.io', 'signers'), resourceNames: [nodeClientSigner] },
  ],
  watches: { CertificateSigningRequest: { whole: true } },
  create: ({ client, informer, ...context }) =>
    createCertificateRequests({
      ...context,
      client,
      requests: informer('CertificateSigningRequest'),
      requestClient: client.certificateSigningRequests,
    }),
};
