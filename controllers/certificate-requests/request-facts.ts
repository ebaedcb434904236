// The certificate library wants reflect-metadata before it. Loaded when a request is there, which is seldom: it is 3 MB
// of a process's memory.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto);

const subjectAlternativeName = '2.5.29.17';

/** What a PKCS #10 request asks for. */
export interface RequestFacts {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Parts of the subject besides these. */
  readonly others: readonly string[];
  /** Names and addresses for which it is to be good. */
  readonly hosts: readonly string[];
  /** e.g. "ECDSA P-256", "RSA 2048". */
  readonly key: string;
  /** Whether who made it has the key. */
  readonly isSigned: boolean;
}

/** Reads a request in PEM; undefined for what is none. */
export async function readRequestFacts(pem: string): Promise<RequestFacts | undefined> {
  try {
    const request = new x509.Pkcs10CertificateRequest(pem);
    const parts = request.subjectName.toJSON().flatMap((part) => Object.entries(part));
    const valuesOf = (name: string) => parts.filter(([key]) => key === name).flatMap(([, values]) => values);
    return {
      commonName: valuesOf('CN').join(),
      organizations: valuesOf('O'),
      others: parts.map(([key]) => key).filter((key) => key !== 'CN' && key !== 'O'),
      hosts: hostsOf(request),
      key: keyOf(request.publicKey.algorithm),
      isSigned: await request.verify(),
    };
  } catch {
    // Whatever is wrong with it, it cannot be signed.
    return undefined;
  }
}

function hostsOf(request: x509.Pkcs10CertificateRequest): string[] {
  const names = request.extensions.filter(({ type }) => type === subjectAlternativeName);
  return names.flatMap(({ rawData }) =>
    new x509.SubjectAlternativeNameExtension(rawData).names.toJSON().map(({ value }) => value),
  );
}

function keyOf(algorithm: { name: string; namedCurve?: string; modulusLength?: number }): string {
  if (algorithm.name.startsWith('RSA')) return `RSA ${algorithm.modulusLength}`;
  return [algorithm.name, algorithm.namedCurve].filter(Boolean).join(' ');
}
