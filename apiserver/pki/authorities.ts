import { X509Certificate } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { splitCertificates } from '../../api/meta/authority.ts';
import { BACKDATE_MS, fitsTogether, type KeyPair, LEAF_YEARS, YEAR_MS } from './certificate-facts.ts';
import { readIfThere, writePrivateFile } from './files.ts';

/**
 * The authorities of the cluster: one signs, and while it takes over from another, what that one signed counts as well.
 *
 *     alone --renew--> both count, the new one signs --drop, or a year later--> alone
 *
 * Files: `ca.crt` has the certificates that count, `ca.key` the key of the one that signs; `ca-cross.crt` has the new
 * one's key, signed by the old one. A crash between two of the writes leaves one of the states, or is carried through
 * at the next start.
 */
export interface Authorities {
  readonly signer: KeyPair;
  /** What signed before (PEM). */
  readonly previous: string | undefined;
  /** The signer's key, signed by the one before it: for those who trust only that one (PEM). */
  readonly cross: string | undefined;
}

const NAME = 'berth-ca';
const [CERTIFICATES, KEY, NEXT_KEY, CROSS] = ['ca.crt', 'ca.key', 'ca-next.key', 'ca-cross.crt'] as const;
/** What the first authority signs first. */
const SERVER = 'server.crt';

/** An authority is taking over already: one at a time. */
export class AuthorityBusy extends Error {
  override message =
    'a new authority is taking over already: "berth certs drop-ca" ends that, once no client needs the old one any more';
}

/** What clients are to trust: the one that signs first. */
export function trustedOf({ signer, previous = '' }: Authorities): string {
  return signer.certificate + previous;
}

/**
 * What a server shows behind its own certificate. The authorities themselves are for those who join, who know the hash
 * of one of them and nothing else; the cross certificate stands first, since OpenSSL ends a path at the first that
 * fits.
 */
export function shownChain({ signer, previous = '', cross = '' }: Authorities): string {
  return cross + previous + signer.certificate;
}

/**
 * Reads the authorities of a folder, makes the first, and carries through a change that was cut off. Throws for files
 * that do not belong together.
 */
export async function openAuthorities(dir: string, now: Date): Promise<Authorities> {
  const [text, key] = await Promise.all([readIfThere(join(dir, CERTIFICATES)), readIfThere(join(dir, KEY))]);
  const next = await readIfThere(join(dir, NEXT_KEY));
  if (!text) {
    // After a first start that was cut off between the two writes there is nothing else yet.
    if (key && (await readIfThere(join(dir, SERVER)))) throw incomplete(dir, CERTIFICATES, KEY);
    return writeFirst(dir, now);
  }
  const certificates = splitCertificates(text);
  const isBegun = next !== undefined && certificates.some((certificate) => fitsTogether({ certificate, key: next }));
  if (isBegun) await rename(join(dir, NEXT_KEY), join(dir, KEY));
  const signs = isBegun ? next : key;
  if (!signs) throw incomplete(dir, KEY, CERTIFICATES);
  const signer = certificates.find((certificate) => fitsTogether({ certificate, key: signs }));
  if (signer === undefined)
    throw new Error(
      `read ${join(dir, KEY)}: it is the key of no certificate in ${CERTIFICATES}; put both back from where they were kept`,
    );
  const previous = certificates.find((each) => each !== signer);
  const cross = previous && (await readIfThere(join(dir, CROSS)));
  return { signer: { certificate: signer, key: signs }, previous, cross };
}

/** Another authority in its place would be trusted by no node, user or program that has the old one's certificate. */
function incomplete(dir: string, missing: string, there: string): Error {
  return new Error(
    `read ${join(dir, missing)}: it is missing or empty, and ${there} is there: put it back from where it was kept; only to begin with another ` +
      `authority, which no node and no user trusts yet, move ${join(dir, there)} away as well`,
  );
}

/** The key first: a key without its certificate is made again. */
async function writeFirst(dir: string, now: Date): Promise<Authorities> {
  const { createAuthority } = await import('./certificates.ts');
  const signer = await createAuthority(NAME, now);
  await writePrivateFile(join(dir, KEY), signer.key);
  await writePrivateFile(join(dir, CERTIFICATES), signer.certificate);
  return { signer, previous: undefined, cross: undefined };
}

/** Puts a new authority in the place of the one that signs, which from then on only counts. Its key is gone then. */
export async function renewAuthority(dir: string, { signer: old }: Authorities, now: Date): Promise<Authorities> {
  const { createAuthority, crossSign } = await import('./certificates.ts');
  const signer = await createAuthority(NAME, now);
  const cross = await crossSign(old, signer.certificate, now);
  await writePrivateFile(join(dir, NEXT_KEY), signer.key);
  await writePrivateFile(join(dir, CROSS), cross);
  await writePrivateFile(join(dir, CERTIFICATES), signer.certificate + old.certificate);
  await rename(join(dir, NEXT_KEY), join(dir, KEY));
  return { signer, previous: old.certificate, cross };
}

/** From now on only the one that signs counts. */
export async function dropPrevious(dir: string, { signer }: Authorities): Promise<Authorities> {
  await writePrivateFile(join(dir, CERTIFICATES), signer.certificate);
  await rm(join(dir, CROSS), { force: true });
  return { signer, previous: undefined, cross: undefined };
}

/**
 * When the last certificate ends that the one before may have signed, in ms since 1970; undefined: there is none
 * before. Pure.
 */
export function previousEndsAt({ signer, previous }: Authorities): number | undefined {
  if (previous === undefined) return undefined;
  const tookOverAt = Date.parse(new X509Certificate(signer.certificate).validFrom) + BACKDATE_MS;
  return Math.min(tookOverAt + LEAF_YEARS * YEAR_MS, Date.parse(new X509Certificate(previous).validTo));
}
