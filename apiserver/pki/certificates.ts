// The only place that knows the certificate library, which wants reflect-metadata before it.
import 'reflect-metadata';
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto);

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Subject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
/**
 * Allows for clock skew: a certificate is valid from before its creation. More than Kubernetes' 5 minutes: an agent
 * whose clock is 10 minutes off works.
 */
export const BACKDATE_MS = 60 * 60_000;
export const YEAR_MS = 365 * 24 * 3600_000;
export const CA_YEARS = 10;
export const LEAF_YEARS = 1;

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

/** When an authority expires, in milliseconds: no certificate that it signs is valid longer. */
function endOf({ certificate }: KeyPair): number {
  return new x509.X509Certificate(certificate).notAfter.getTime();
}

/**
 * The subject of a certificate (PEM), decoded as TLS does; the certificate library decodes some strings differently.
 */
export function certifiedSubject(certificate: string): CertifiedSubject {
  const { CN, O, ...others } = new X509Certificate(certificate).toLegacyObject().subject as unknown as SubjectValues;
  return { commonNames: [CN ?? []].flat(), organizations: [O ?? []].flat(), others: Object.keys(others) };
}

export interface CertifiedSubject {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  /** Parts of the subject besides these. */
  readonly others: readonly string[];
}

/** Several values of one part are an array. */
type SubjectValues = Readonly<Record<string, string | readonly string[]>>;

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

/** What decides whether a stored certificate is still the right one. */
export interface CertificateFacts {
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly hosts: readonly string[];
  /** Whether the authority signed it. */
  readonly signed: boolean;
  /** Whether the key is the certificate's own. */
  readonly fits: boolean;
}

export async function inspectCertificate(authority: string, pair: KeyPair): Promise<CertificateFacts> {
  const leaf = new x509.X509Certificate(pair.certificate);
  const names = leaf.getExtension(x509.SubjectAlternativeNameExtension)?.names.toJSON() ?? [];
  const publicKey = await new x509.X509Certificate(authority).publicKey.export();
  const signed = await leaf.verify({ publicKey, signatureOnly: true });
  const { notBefore, notAfter } = leaf;
  return { notBefore, notAfter, hosts: names.map((name) => name.value), signed, fits: fitsTogether(pair) };
}

/** Whether the key is the certificate's own. */
export function fitsTogether(pair: KeyPair): boolean {
  try {
    return new X509Certificate(pair.certificate).checkPrivateKey(createPrivateKey(pair.key));
  } catch {
    return false;
  }
}

/** When a certificate counts, in ms since 1970. */
export interface CertificateLife {
  readonly beganAt: number;
  readonly endsAt: number;
}

export interface NamedLife extends CertificateLife {
  readonly name: string;
}

export function lifeOf(certificate: string): CertificateLife {
  const { validFrom, validTo } = new X509Certificate(certificate);
  return { beganAt: Date.parse(validFrom), endsAt: Date.parse(validTo) };
}
