import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Subject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/**
 * Allows for clock skew: a certificate is valid from before its creation. More than Kubernetes' 5 minutes: an agent
 * whose clock is 10 minutes off works.
 */
export const BACKDATE_MS = 60 * 60_000;
export const YEAR_MS = 365 * 24 * 3600_000;
export const CA_YEARS = 10;
export const LEAF_YEARS = 1;

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

/** What decides whether a stored certificate is still the right one. */
export interface CertificateFacts {
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Whether it is good for a host: a name or an address. */
  readonly names: (host: string) => boolean;
  /** Whether the authority signed it. */
  readonly signed: boolean;
  /** Whether the key is the certificate's own. */
  readonly fits: boolean;
}

/** Throws an Error for what is no certificate. */
export function inspectCertificate(authority: string, pair: KeyPair): CertificateFacts {
  const leaf = new X509Certificate(pair.certificate);
  const { beganAt, endsAt } = lifeOf(pair.certificate);
  return {
    notBefore: new Date(beganAt),
    notAfter: new Date(endsAt),
    names: (host) =>
      (isIP(host) ? leaf.checkIP(host) : leaf.checkHost(host, { subject: 'never', wildcards: false })) !== undefined,
    signed: leaf.verify(new X509Certificate(authority).publicKey),
    fits: fitsTogether(pair),
  };
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
