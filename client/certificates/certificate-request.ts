// The certificate library wants reflect-metadata before it. Loaded when a certificate is asked for, which is seldom.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export interface CertificateRequest {
  /** Private, PEM. The server never sees it. */
  readonly key: string;
  /** PKCS #10, PEM. */
  readonly request: string;
}

/** Makes a new key, and the request for a certificate of a user in some groups. */
export async function createCertificateRequest(user: string, groups: readonly string[]): Promise<CertificateRequest> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const name = new x509.Name([...groups.map((group) => ({ O: [group] })), { CN: [user] }]);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({ name, keys, signingAlgorithm: algorithm });
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { key: `${x509.PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n`, request: `${request.toString('pem')}\n` };
}
