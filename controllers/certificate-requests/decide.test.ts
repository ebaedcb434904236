import { describe, expect, it } from 'vitest';
import type { CertificateSigningRequest, Node } from '../../api/generated/types.ts';
import { nodeClientSigner } from '../../api/kinds/certificate-signing-request/signers.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { decideRequest } from './decide.ts';
import type { RequestFacts } from './request-facts.ts';

const now = Date.parse('2026-06-01T12:00:00Z');
const minute = 60_000;

const facts: RequestFacts = {
  commonName: 'system:node:n2',
  organizations: ['system:nodes'],
  others: [],
  hosts: [],
  key: 'ECDSA P-256',
  isSigned: true,
};
type Spec = NonNullable<CertificateSigningRequest['spec']>;
const spec: Spec = {
  signerName: nodeClientSigner,
  usages: ['digital signature', 'client auth'],
  username: 'system:bootstrap:abcdef',
  groups: ['system:bootstrappers'],
};
const made = (more: Partial<Spec> = {}, ageMs = 0, status?: CertificateSigningRequest['status']): CertificateSigningRequest => ({
  metadata: { name: 'r', creationTimestamp: secondsTimestamp(new Date(now - ageMs)) },
  spec: { ...spec, ...more },
  ...(status && { status }),
});
const node = (ready: string): Node => ({
  metadata: { name: 'n2' },
  status: { conditions: [{ type: 'Ready', status: ready }] },
});
const renewal: Partial<Spec> = { username: 'system:node:n2', groups: ['system:nodes'] };

describe('a request for the certificate of a node', () => {
  it.each<[string, CertificateSigningRequest, Node | undefined]>([
    ['with a token, of a new name', made(), undefined],
    ['with a token, of a node that has fallen silent', made(), node('Unknown')],
    ['with a token, of a node that was announced and never reported', made(), { metadata: { name: 'n2' } }],
    ['of the node itself, which is alive', made(renewal), node('True')],
    ['of an RSA key', made({ usages: ['client auth', 'key encipherment'] }), undefined],
  ])('is approved: %s', (_, request, of) => {
    expect(decideRequest({ request, facts, node: of, now })).toMatchObject({ type: 'approve' });
  });

  it.each<[string, CertificateSigningRequest, Partial<RequestFacts> | undefined, string]>([
    ['nothing that can be read', made(), undefined, 'no PKCS #10'],
    ['a key that the requester does not have', made(), { isSigned: false }, 'not signed'],
    ['another user', made(), { commonName: 'admin' }, 'common name "admin"'],
    ['a node without a name', made(), { commonName: 'system:node:' }, 'common name'],
    ['administrators', made(), { organizations: ['system:masters'] }, 'system:masters'],
    ['another group besides', made(), { organizations: ['system:nodes', 'system:masters'] }, 'not just system:nodes'],
    ['more of a subject', made(), { others: ['OU'] }, 'OU'],
    ['hosts', made(), { hosts: ['kubernetes.default'] }, 'kubernetes.default'],
    ['a small key', made(), { key: 'RSA 1024' }, 'RSA 1024'],
    ['the use as a server', made({ usages: ['client auth', 'server auth'] }), {}, 'usages'],
    ['no use as a client', made({ usages: ['digital signature'] }), {}, 'usages'],
    ["another node's name, by a node", made({ ...renewal, username: 'system:node:n1' }), {}, 'its own certificate only'],
  ])('is denied: %s', (_, request, change, message) => {
    const asked = change && { ...facts, ...change };
    expect(decideRequest({ request, facts: asked, node: undefined, now })).toMatchObject({
      type: 'deny',
      message: expect.stringContaining(message),
    });
  });

  it.each(['True', 'False'])('is denied with a token while the node of that name lives (Ready=%s)', (ready) => {
    expect(decideRequest({ request: made(), facts, node: node(ready), now })).toMatchObject({
      type: 'deny',
      message: expect.stringMatching(/node n2.*alive.*--node-name.*berth delete node n2/),
    });
  });

  it.each<[string, Partial<Spec>]>([
    ['another signer', { signerName: 'example.com/mine' }],
    ['a person', { username: 'anna', groups: ['people'] }],
    ['a user that only sounds like a token', { groups: ['people'] }],
  ])('waits for a person, for a day: %s', (_, more) => {
    expect(decideRequest({ request: made(more), facts, node: undefined, now })).toEqual({ type: 'wait', ms: 24 * 60 * minute });
    expect(decideRequest({ request: made(more, 24 * 60 * minute), facts, node: undefined, now })).toEqual({ type: 'remove' });
  });

  it.each<[string, CertificateSigningRequest['status']]>([
    ['signed', { conditions: [{ type: 'Approved', status: 'True' }], certificate: Buffer.from('x') }],
    ['denied', { conditions: [{ type: 'Denied', status: 'True' }] }],
    ['failed', { conditions: [{ type: 'Approved' }, { type: 'Failed' }] }],
  ])('goes an hour after it was %s', (_, status) => {
    const ofAge = (ms: number) => decideRequest({ request: made({}, ms, status), facts, node: undefined, now });
    expect(ofAge(0)).toEqual({ type: 'wait', ms: 60 * minute });
    expect(ofAge(60 * minute)).toEqual({ type: 'remove' });
  });

  it('is decided once', () => {
    const request = made({}, 0, { conditions: [{ type: 'Approved', status: 'True' }] });
    expect(decideRequest({ request, facts, node: node('True'), now })).toMatchObject({ type: 'wait' });
  });
});
