import { createHash, type X509Certificate } from 'node:crypto';

/** The certificates in a PEM text, each by itself, with a line break at its end. */
export function splitCertificates(text: string): string[] {
  return (text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map((each) => `${each}\n`);
}

/** "sha256:" and the hash of a certificate's public key (SPKI) in hex, as kubeadm writes it: names an authority. */
export function authorityHash(certificate: X509Certificate): string {
  const key = certificate.publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}
