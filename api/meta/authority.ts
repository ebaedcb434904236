import { createHash, type X509Certificate } from 'node:crypto';

/** The certificates in a PEM text, each by itself, with a line break at its end. */
export function splitCertificates(text: string): string[] {
  return (text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map((each) => `${each}\n`);
}

const BEGIN = '-----BEGIN CERTIFICATE-----';
const END = '-----END CERTIFICATE-----';

/** Whether a text has the frame of a certificate in PEM, with something in it. In linear time. */
export function hasCertificate(text: string): boolean {
  const begin = text.indexOf(BEGIN);
  return begin >= 0 && text.lastIndexOf(END) > begin + BEGIN.length;
}

/** Whether two PEM texts have a certificate in common: while a new authority takes over there are two. */
export function shareCertificate(one: string, other: string): boolean {
  const known = splitCertificates(other);
  return splitCertificates(one).some((each) => known.includes(each));
}

/** "sha256:" and the hash of a certificate's public key (SPKI) in hex, as kubeadm writes it: names an authority. */
export function authorityHash(certificate: X509Certificate): string {
  const key = certificate.publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}
