// The only place of the API server that knows the certificate library, which wants reflect-metadata before it. Loaded
// when a certificate is made, which is seldom: the library is 3 MB of a process's memory.
import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import { BACKDATE_MS, CA_YEARS, type KeyPair, LEAF_YEARS, lifeOf, type Subject, YEAR_MS } from './certificate-facts.ts';

x509.cryptoProvider.set(webcrypto);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

function validity(now: Date, years: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(now.getTime() - BACKDATE_MS), notAfter: new Date(now.getTime() + years * YEAR_MS) };
}

/** A positive number that never repeats. */
function serialNumber(): string {
  return `01${randomBytes(15).toString('hex')}`;
}

function nameOf(subject: Subject): x509.Name {
  return new x509.Name([...subject.organizations.map((name) => ({ O: [name] })), { CN: [subject.commonName] }]);
}

async function toPem(certificate: x509.X509Certificate, key: webcrypto.CryptoKey): Promise<KeyPair> {
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', key);
  return { certificate: `${certificate.toString('pem')}\n`, key: `${x509.PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n` };
}

/** Makes a self-signed authority that may sign certificates of clients and servers, not other authorities. */
export async function createAuthority(commonName: string, now: Date): Promise<KeyPair> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: nameOf({ commonName, organizations: [] }),
    ...validity(now, CA_YEARS),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return toPem(certificate, keys.privateKey);
}

/**
 * The key of one authority, signed by another of the same name: who trusts only that one trusts what the first signed.
 * As both have one name, this counts for no step of a path, of which authorities allow none (RFC 5280, 6.1.4). Answers
 * the certificate (PEM).
 */
export async function crossSign(authority: KeyPair, other: string, now: Date): Promise<string> {
  const subject = new x509.X509Certificate(other);
  const issuer = new x509.X509Certificate(authority.certificate);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: subject.subjectName,
    issuer: issuer.subjectName,
    publicKey: subject.publicKey,
    notBefore: validity(now, 0).notBefore,
    notAfter: issuer.notAfter,
    signingKey: await signingKeyOf(authority),
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(subject.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}

function signingKeyOf({ key }: KeyPair): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(key), algorithm, false, ['sign']);
}

/** When an authority expires, in milliseconds: no certificate that it signs is valid longer. */
function endOf({ certificate }: KeyPair): number {
  return lifeOf(certificate).endsAt;
}

/** Signs a new key: with `hosts` a server's certificate, without them a client's. */
export async function issueCertificate(
  authority: KeyPair,
  subject: Subject,
  hosts: readonly string[] | undefined,
  now: Date,
): Promise<KeyPair> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const { notBefore, notAfter } = validity(now, LEAF_YEARS);
  const end = Math.min(notAfter.getTime(), endOf(authority));
  const leaf = { subject: nameOf(subject), publicKey: keys.publicKey, hosts, notBefore, notAfter: new Date(end) };
  return toPem(await sign(authority, leaf), keys.privateKey);
}

/**
 * Signs the key of a PKCS #10 request (PEM) as a client's, with the subject that it names; answers the certificate
 * (PEM). Throws an Error for what is none, a weak key, and one that the requester does not hold.
 */
export async function signRequest(authority: KeyPair, request: string, now: Date, seconds: number | undefined): Promise<string> {
  const asked = new x509.Pkcs10CertificateRequest(request);
  const { subjectName: subject, publicKey } = asked;
  if (!(await asked.verify())) throw new Error('it is not signed with the key that it is for');
  checkStrength(publicKey.algorithm);
  const longest = LEAF_YEARS * YEAR_MS;
  const lifeMs = seconds === undefined ? longest : Math.min(seconds * 1000, longest);
  const end = Math.min(now.getTime() + lifeMs, endOf(authority));
  const leaf = { subject, publicKey, hosts: undefined, notBefore: validity(now, 0).notBefore, notAfter: new Date(end) };
  return `${(await sign(authority, leaf)).toString('pem')}\n`;
}

/** As the rule for nodes has it; the approver of a user may not have looked. */
const leastRsaBits = 2_048;

function checkStrength({ name, modulusLength = 0 }: { readonly name: string; readonly modulusLength?: number }): void {
  if (name.startsWith('RSA') && modulusLength < leastRsaBits)
    throw new Error(`a key of RSA ${modulusLength} is too weak: make one of ${leastRsaBits} bits or more, or ECDSA`);
}

interface Leaf {
  readonly subject: x509.Name;
  readonly publicKey: x509.PublicKeyType;
  readonly hosts: readonly string[] | undefined;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

async function sign(authority: KeyPair, { hosts, ...leaf }: Leaf): Promise<x509.X509Certificate> {
  const issuer = new x509.X509Certificate(authority.certificate);
  const signingKey = await signingKeyOf(authority);
  const usage = hosts ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth;
  const names = hosts?.map((host) => ({ type: isIP(host) ? 'ip' : 'dns', value: host }) as const);
  return x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    issuer: issuer.subjectName,
    ...leaf,
    signingKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([usage]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...(names ? [new x509.SubjectAlternativeNameExtension(names)] : []),
    ],
  });
}
