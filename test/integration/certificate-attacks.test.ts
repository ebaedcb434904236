import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import { refusalOf } from '../../api/kinds/certificate-signing-request/approval.ts';
import { clientSigner, nodeClientSigner } from '../../api/kinds/certificate-signing-request/signers.ts';
import { type Client, connect } from '../../client/index.ts';
import type { RunningServer } from './apiserver-harness.ts';
import { type JoinableServer, joinTokenText, startJoinableServer } from './joining-harness.ts';

// Requests for forbidden certificates, sent with a token for joining, as an administrator approves them, and as a node.
x509.cryptoProvider.set(webcrypto);
const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const rsa = (modulusLength: number) => ({
  ...{ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength },
  publicExponent: new Uint8Array([1, 0, 1]),
});

let joinable: JoinableServer;
let server: RunningServer;
let joining: Client;
beforeAll(async () => {
  joinable = await startJoinableServer();
  server = joinable.server;
  joining = joinable.reach({ token: joinTokenText });
}, 60_000);
afterAll(() => joinable.stop());

interface Wish {
  readonly name?: string;
  readonly algorithm?: typeof ecdsa | ReturnType<typeof rsa>;
  readonly extensions?: x509.Extension[];
  readonly signer?: string;
  readonly usages?: string[];
}

async function pem({ name = 'O=system:nodes, CN=system:node:n9', algorithm = ecdsa, extensions = [] }: Wish): Promise<string> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const made = { name, keys, signingAlgorithm: algorithm, extensions };
  return (await x509.Pkcs10CertificateRequestGenerator.create(made)).toString('pem');
}

async function ask(by: Client, wish: Wish, text?: string): Promise<CertificateSigningRequest> {
  const { signer = nodeClientSigner, usages = ['digital signature', 'client auth'] } = wish;
  const request = Buffer.from(text ?? (await pem(wish)));
  return by.resource('CertificateSigningRequest').create({
    metadata: { generateName: 'attack-' },
    spec: { request, signerName: signer, usages },
  });
}

/** What became of it. */
async function answered(made: CertificateSigningRequest): Promise<CertificateSigningRequest> {
  const requests = server.client.resource('CertificateSigningRequest');
  return vi.waitFor(
    async () => {
      const now = await requests.get({ name: made.metadata?.name ?? '' });
      expect(refusalOf(now) ?? now.status?.certificate?.length).toBeTruthy();
      return now;
    },
    { timeout: 10_000, interval: 20 },
  );
}

it('is refused when it is large, or tied to what would keep it', async () => {
  const request = Buffer.from(await pem({}));
  const spec = { request, signerName: nodeClientSigner, usages: ['digital signature', 'client auth'] };
  const create = (metadata: object) =>
    joining.resource('CertificateSigningRequest').create({ metadata: { generateName: 'attack-', ...metadata }, spec });
  const labels = Object.fromEntries(Array.from({ length: 2_500 }, (_, i) => [`example.com/k${i}`, 'v'.repeat(63)]));
  await expect(create({ annotations: { 'example.com/filler': 'x'.repeat(250_000) }, labels })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('too long: must have at most 393216 bytes'),
  });
  await expect(create({ finalizers: ['example.com/stay'] })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
});

const alternative = (...names: x509.JsonGeneralNames) => new x509.SubjectAlternativeNameExtension(names);

const authorityOfServers = [
  new x509.BasicConstraintsExtension(true, 3, true),
  new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
];

function expectClientOnly(certificate: Uint8Array | undefined): void {
  const made = new x509.X509Certificate(Buffer.from(certificate ?? []).toString());
  expect(made.getExtension(x509.BasicConstraintsExtension)?.ca).toBe(false);
  expect(made.getExtension(x509.ExtendedKeyUsageExtension)?.usages).toEqual([x509.ExtendedKeyUsage.clientAuth]);
  expect(made.getExtension(x509.SubjectAlternativeNameExtension)).toBeNull();
}

/** With a name that its key never signed: one letter of it is another. */
async function forged(wish: Wish): Promise<string> {
  const der = Buffer.from(x509.PemConverter.decodeFirst(await pem(wish)));
  // The last letter of the common name.
  const at = der.indexOf(Buffer.from((wish.name ?? 'n9').split('=').at(-1)!)) + (wish.name ?? 'n9').split('=').at(-1)!.length - 1;
  der[at] = der[at]! + 1;
  return x509.PemConverter.encode(der, 'CERTIFICATE REQUEST');
}

describe('a CertificateSigningRequest of a bootstrap token', () => {
  it.each<[string, Wish, RegExp]>([
    ['an administrator', { name: 'O=system:masters, CN=admin' }, /common name "admin"/],
    [
      'a node that is an administrator too',
      { name: 'O=system:nodes, O=system:masters, CN=system:node:n9' },
      /not just system:nodes/,
    ],
    ['a component', { name: 'CN=system:kube-controller-manager' }, /common name/],
    ['two names', { name: 'O=system:nodes, CN=system:node:n9, CN=admin' }, /common name|more than/],
    ['a name with a unit', { name: 'O=system:nodes, OU=x, CN=system:node:n9' }, /more than a common name/],
    ['a host', { extensions: [alternative({ type: 'dns', value: 'kubernetes' })] }, /kubernetes/],
    ['an address', { extensions: [alternative({ type: 'ip', value: '10.0.0.1' })] }, /10\.0\.0\.1/],
    ['the use as a server', { usages: ['client auth', 'server auth'] }, /usages/],
    ['a weak key', { algorithm: rsa(1024) }, /RSA 1024/],
  ])('is denied for %s', async (_, wish, message) => {
    const { status } = await answered(await ask(joining, wish));
    expect(status?.certificate ?? Buffer.alloc(0)).toHaveLength(0);
    expect(refusalOf({ status })?.message).toMatch(message);
  });

  it.each<[string, () => Promise<string>]>([
    ['nothing', async () => ''],
    ['something else', async () => 'x'.repeat(100)],
    ['two requests', async () => (await pem({})) + (await pem({}))],
    ['too much', async () => `${(await pem({})).trim()}\n${'\n'.repeat(65 * 1024)}`],
    ['a damaged one', async () => (await pem({})).replace(/[A-Za-z]/g, 'é')],
  ])('is refused at once with %s', async (_, text) => {
    await expect(ask(joining, {}, await text())).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('is denied with an invalid self-signature', async () => {
    const { status } = await answered(await ask(joining, {}, await forged({})));
    expect(refusalOf({ status })?.message).toMatch(/not signed/);
  });

  it('gets a client certificate only, even when it requests CA:TRUE', async () => {
    const { status } = await answered(await ask(joining, { extensions: authorityOfServers }));
    expectClientOnly(status?.certificate);
  });
});

describe('a CertificateSigningRequest approved by an administrator', () => {
  const approve = async (made: CertificateSigningRequest): Promise<CertificateSigningRequest> => {
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: 'by mistake' }];
    const at = { name: made.metadata?.name ?? '', subresource: 'approval' };
    await server.client.resource('CertificateSigningRequest').patch(at, { status: { conditions } });
    return answered(made);
  };

  it.each([
    ['an administrator', 'O=system:masters, CN=admin', /system:masters/],
    ['a node', 'O=system:nodes, CN=system:node:n1', /name of the system's own/],
    ['a component', 'CN=system:kube-scheduler', /name of the system's own/],
    ['no user', 'O=people', /common name.*empty/],
  ])('is not signed for %s', async (_, name, message) => {
    const { status } = await approve(await ask(server.client, { name, signer: clientSigner }));
    expect(refusalOf({ status })?.message).toMatch(message);
  });

  it('gets a client certificate only, regardless of the requested extensions', async () => {
    const extensions = [...authorityOfServers, alternative({ type: 'dns', value: 'kubernetes' })];
    const { status } = await approve(await ask(server.client, { name: 'CN=anna', signer: clientSigner, extensions }));
    expectClientOnly(status?.certificate);
  });

  it.each<[string, Wish, RegExp]>([
    ['a weak key', { algorithm: rsa(1024) }, /RSA 1024 is too weak/],
    ['a key that is none of theirs', {}, /not signed with the key/],
  ])('is not signed for %s', async (what, wish, message) => {
    const of = { ...wish, name: 'CN=anna', signer: clientSigner };
    const text = what === 'a weak key' ? await pem(of) : await forged(of);
    const { status } = await approve(await ask(server.client, of, text));
    expect(refusalOf({ status })?.message).toMatch(message);
  });
});

describe('a certificate', () => {
  const authority = async () => {
    const read = async (name: string) => (await import('node:fs/promises')).readFile(`${server.dataDir}/pki/${name}`, 'utf8');
    return { certificate: await read('ca.crt'), key: await read('ca.key') };
  };

  it.each<[string, number, RegExp]>([
    ['has ended', -400 * 24 * 3_600_000, /"admin" expired on .*get a new one/],
    ['is not good yet', 24 * 3_600_000, /"admin" is not valid before .*look at the clocks/],
  ])('of the own authority that %s does not count', async (_, offMs, message) => {
    const { issueCertificate } = await import('../../apiserver/pki/certificates.ts');
    const subject = { commonName: 'admin', organizations: ['system:masters'] };
    const { certificate: cert, key } = await issueCertificate(
      await authority(),
      subject,
      undefined,
      new Date(Date.now() + offMs),
    );
    const client = connect({ address: server.info.address, ca: server.info.ca, cert, key });
    await expect(client.nodes.list()).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringMatching(message),
    });
    client.close();
  });
});
