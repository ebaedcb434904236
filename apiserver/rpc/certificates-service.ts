import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { encodeMessage } from '../../api/codec/message.ts';
import { badRequest, failedPrecondition } from '../../api/errors/index.ts';
import type { DropAuthorityRequest, RenewCertificatesRequest } from '../../api/generated/types.ts';
import { authorityHash } from '../../api/meta/authority.ts';
import { timestamp } from '../../api/meta/time.ts';
import { isControlPlane, nodeUser } from '../authn/identity.ts';
import { AuthorityBusy } from '../pki/authorities.ts';
import type { ClientCertificates } from '../pki/client-certificates.ts';
import { type HeldCertificates, type HeldName, heldNames } from '../pki/held-certificates.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';

export const CERTIFICATES_SERVICE = 'berth.server.v1.Certificates';

/** Named in a refusal; the others are counted. */
const MOST_NAMED = 10;

export interface CertificatesDeps {
  readonly certificates: HeldCertificates;
  readonly clients: ClientCertificates;
  /** The names of the nodes that the cluster has. */
  readonly nodeNames: () => readonly string[];
  readonly log: Logger;
}

const at = { kind: 'Certificate', namespace: '', name: '' } as const;
const message = (name: string): string => `berth.server.v1.${name}`;

/** What the server's certificates are, and their renewal. */
export function certificatesService(deps: CertificatesDeps, pipeline: CallPipeline) {
  const { certificates, clients, log } = deps;
  return {
    definition: serviceDefinition(CERTIFICATES_SERVICE),
    implementation: {
      GetAuthorities: pipeline.unary((request, call) => {
        decodeStrictly(message('GetAuthoritiesRequest'), request, 'request');
        call.authorizePath('/authorities');
        const answer = () => ({ certificates: certificates.trusted() });
        return { run: async () => ({ bytes: encodeMessage(message('GetAuthoritiesResponse'), answer()) }) };
      }),
      List: pipeline.unary((request, call) => {
        decodeStrictly(message('ListCertificatesRequest'), request, 'request');
        call.authorize({ verb: 'list', ...at });
        const answer = () => ({ certificates: describeHeld(certificates), clients: describeClients(clients) });
        return { run: async () => ({ bytes: encodeMessage(message('ListCertificatesResponse'), answer()) }) };
      }),
      Renew: pipeline.unary((request, call) => {
        const wish = decodeStrictly<RenewCertificatesRequest>(message('RenewCertificatesRequest'), request, 'request');
        call.authorize({ verb: 'create', ...at });
        return {
          run: async () => {
            const names = await renew(certificates, wish);
            const { requestId, identity } = call;
            log.warn({ requestId, user: identity.user, names }, "the server's certificates were made anew");
            return { bytes: encodeMessage(message('RenewCertificatesResponse'), { names }) };
          },
        };
      }),
      DropAuthority: pipeline.unary((request, call) => {
        const { force = false } = decodeStrictly<DropAuthorityRequest>(message('DropAuthorityRequest'), request, 'request');
        call.authorize({ verb: 'delete', ...at });
        return {
          run: async () => {
            if (!force) checkUnused(deps);
            if (!(await certificates.dropPrevious()))
              throw failedPrecondition('NoOldAuthority', 'there is one authority only: no other one is being replaced');
            const { requestId, identity } = call;
            log.warn({ requestId, user: identity.user, force }, 'the old authority was dropped');
            return { bytes: encodeMessage(message('DropAuthorityResponse'), {}) };
          },
        };
      }),
    },
  };
}

function describeClients(clients: ClientCertificates) {
  return clients.list().map(({ user, endsAt, authorityHash: hash, seenAt }) => ({
    user,
    notAfter: timestamp(new Date(endsAt)),
    authorityHash: hash,
    lastSeenTime: timestamp(new Date(seenAt)),
  }));
}

async function renew(certificates: HeldCertificates, wish: RenewCertificatesRequest): Promise<readonly string[]> {
  const { names = [], authority = false } = wish;
  if (authority && names.length > 0) throw badRequest('with a new authority everything is made anew: name nothing besides');
  const wrong = names.find((name) => !heldNames.includes(name as HeldName));
  if (wrong !== undefined)
    throw badRequest(`the server has no certificate "${wrong.slice(0, 100)}" of its own: ${heldNames.join(', ')}`);
  if (!authority) return certificates.renew(names.length > 0 ? (names as HeldName[]) : heldNames);
  try {
    return await certificates.renewAuthority();
  } catch (error) {
    if (error instanceof AuthorityBusy) throw failedPrecondition('AuthorityBusy', error.message);
    throw error;
  }
}

function describeHeld(certificates: HeldCertificates) {
  const { signer, previous } = certificates.authorities;
  const authorities = [signer.certificate, ...(previous === undefined ? [] : [previous])].map((pem) => new X509Certificate(pem));
  const describe = (name: string, pem: string) => {
    const certificate = new X509Certificate(pem);
    const by = authorities.find(({ publicKey }) => certificate.verify(publicKey));
    return {
      name,
      subject: certificate.subject.split('\n').join(', '),
      notBefore: timestamp(new Date(certificate.validFrom)),
      notAfter: timestamp(new Date(certificate.validTo)),
      authorityHash: by === undefined ? '' : authorityHash(by),
      hosts: (certificate.subjectAltName ?? '')
        .split(', ')
        .filter(Boolean)
        .map((host) => host.replace(/^[^:]+:/, '')),
    };
  };
  return [
    describe('ca', signer.certificate),
    ...(previous === undefined ? [] : [describe('old ca', previous)]),
    ...heldNames.map((name) => describe(name, certificates.pair(name).certificate)),
  ];
}

/** Throws FAILED_PRECONDITION while a certificate of the old authority is in use. */
function checkUnused({ certificates, clients, nodeNames }: CertificatesDeps): void {
  const { signer, previous } = certificates.authorities;
  if (previous === undefined) return;
  const ours = authorityHash(new X509Certificate(signer.certificate));
  const seen = new Map(clients.list().map((each) => [each.user, each]));
  const missing = nodeNames()
    .filter((name) => !seen.has(nodeUser(name)))
    .map((name) => `node ${name} (not seen since the server started)`);
  // What runs beside the server takes its new certificate from the disk, with its next connection.
  const old = [...seen.values()]
    .filter((each) => each.authorityHash !== ours && !isControlPlane(each.user))
    .map(({ user }) => user);
  const all = [...old, ...missing];
  if (all.length === 0) return;
  const more = all.length > MOST_NAMED ? ` and ${all.length - MOST_NAMED} more` : '';
  throw failedPrecondition(
    'OldAuthorityInUse',
    `the old authority is needed still, by ${all.slice(0, MOST_NAMED).join(', ')}${more}: agents renew their certificates within ten minutes, users need new ones; "--force" leaves them out, and nodes then join again`,
  );
}
