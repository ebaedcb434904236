import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const usages: KeyUsage[] = ['sign', 'verify'];
type KeyUsage = 'sign' | 'verify';

/** A certificate and its key, as PEM. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface TestPki {
  readonly ca: string;
  /** A certificate of this CA: subject as "CN=admin, O=system:masters"; with addresses it is a server's. */
  issue(subject: string, options?: { addresses?: readonly string[]; expired?: boolean }): Promise<TestCertificate>;
}

async function pem(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

/** A CA in memory for tests that need TLS. */
export async function createTestPki(): Promise<TestPki> {
  const hour = 3_600_000;
  const now = Date.now();
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, usages)) as webcrypto.CryptoKeyPair;
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=test-ca',
    notBefore: new Date(now - hour),
    notAfter: new Date(now + 24 * hour),
    keys: keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  let serial = 1;
  return {
    ca: ca.toString('pem'),
    async issue(subject, { addresses = [], expired = false } = {}) {
      const own = (await webcrypto.subtle.generateKey(algorithm, true, usages)) as webcrypto.CryptoKeyPair;
      const names = addresses.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? ('ip' as const) : ('dns' as const), value }));
      const cert = await x509.X509CertificateGenerator.create({
        serialNumber: (++serial).toString(16).padStart(2, '0'),
        subject,
        issuer: ca.subject,
        notBefore: new Date(now - 2 * hour),
        notAfter: new Date(expired ? now - hour : now + 24 * hour),
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        extensions: names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : [],
      });
      return { cert: cert.toString('pem'), key: await pem(own.privateKey) };
    },
  };
}
