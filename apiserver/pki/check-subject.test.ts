import { generateKeyPairSync, sign } from 'node:crypto';
import { expect, it } from 'vitest';
import { clientSigner, nodeClientSigner } from '../../api/kinds/certificate-signing-request/signers.ts';
import { certifiedSubject } from './certificate-facts.ts';
import { createAuthority, signRequest } from './certificates.ts';
import { checkSubject } from './check-subject.ts';

const subject = (commonName: string, organizations: string[] = [], others: string[] = []) => ({
  ...{ commonNames: [commonName], organizations, others },
});

it.each([
  [clientSigner, subject('anna', ['team'])],
  [nodeClientSigner, subject('system:node:n1', ['system:nodes'])],
])('%s signs for its own', (signer, of) => {
  expect(() => checkSubject(signer, of)).not.toThrow();
});

it.each([
  [clientSigner, subject('anna', ['system:masters']), 'no request may ask for a certificate of the group system:masters'],
  [clientSigner, subject('system:kube-scheduler'), "a name of the system's own"],
  [clientSigner, subject('', ['team']), 'is empty'],
  [clientSigner, { ...subject('anna'), commonNames: ['anna', 'system:node:n1'] }, 'more than one common name'],
  [nodeClientSigner, subject('anna', ['system:masters']), 'not system:node:NAME'],
  [nodeClientSigner, subject('system:node:n1', ['system:masters']), 'organization system:nodes, and of nothing else'],
  [nodeClientSigner, subject('system:node:n1', ['system:nodes', 'team']), 'organization system:nodes'],
  [nodeClientSigner, subject('system:node:n1', ['system:nodes'], ['OU']), 'organization system:nodes'],
  [nodeClientSigner, subject('system:node:'), 'common name "system:node:"'],
  [nodeClientSigner, subject('system:node:../n1', ['system:nodes']), 'common name "system:node:../n1"'],
])('%s does not sign for others, even when approved: %j', (signer, of, why) => {
  expect(() => checkSubject(signer, of)).toThrow(why);
});

const tlv = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const length = content.length < 128 ? [content.length] : [0x82, content.length >> 8, content.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
};
const part = (attribute: number, tag: number, text: string): Buffer =>
  tlv(0x31, tlv(0x30, Buffer.from([6, 3, 0x55, 4, attribute]), tlv(tag, Buffer.from(text))));

/** A PKCS #10 request whose names are texts of any type of ASN.1. */
function requestOf(...parts: Buffer[]): string {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = publicKey.export({ type: 'spki', format: 'der' });
  const info = tlv(0x30, tlv(2, Buffer.from([0])), tlv(0x30, ...parts), key, tlv(0xa0));
  const ecdsaWithSha256 = tlv(0x30, Buffer.from([6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]));
  const der = tlv(0x30, info, ecdsaWithSha256, tlv(3, Buffer.from([0]), sign('sha256', info, privateKey)));
  return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
}

it.each([12, 18, 19, 20, 22])(
  'a subject is read as TLS reads it, also texts of type %i that the certificate library shows as bytes',
  async (type) => {
    const authority = await createAuthority('test', new Date());
    const request = requestOf(part(10, type, 'system:masters'), part(3, 12, 'anna'));
    const of = certifiedSubject(await signRequest(authority, request, new Date(), undefined));
    expect(of).toEqual({ commonNames: ['anna'], organizations: ['system:masters'], others: [] });
    expect(() => checkSubject(clientSigner, of)).toThrow('system:masters');
  },
);
