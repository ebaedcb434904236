import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';

export interface CertificateFiles {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/** What they held when they were last whole. */
export interface FileCertificate {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/** How long a replaced certificate may still be used, and how often the files are read. */
const lookMs = 30_000;

/**
 * A certificate that another process renews in its files: answers the same object until they have changed. Throws for
 * files that cannot be read at first; later what was read last goes on counting, also while only one of the files has
 * been replaced.
 */
export function fileCertificate(files: CertificateFiles, now: () => number): () => FileCertificate {
  let held = read(files);
  let stamp = stampOf(files);
  let lookedAt = now();
  return () => {
    if (Math.abs(now() - lookedAt) < lookMs) return held;
    lookedAt = now();
    try {
      const seen = stampOf(files);
      if (seen === stamp) return held;
      const next = read(files);
      if (!new X509Certificate(next.certificate).checkPrivateKey(createPrivateKey(next.key))) return held;
      [held, stamp] = [next, seen];
    } catch {
      // Being replaced, or damaged: looked at again.
    }
    return held;
  };
}

function read({ ca, certificate, key }: CertificateFiles): FileCertificate {
  return { ca: readFileSync(ca, 'utf8'), certificate: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') };
}

function stampOf({ ca, certificate, key }: CertificateFiles): string {
  return [ca, certificate, key].map((file) => `${statSync(file).mtimeMs}/${statSync(file).ino}`).join();
}
