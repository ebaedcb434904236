import { createPrivateKey, X509Certificate } from 'node:crypto';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { splitCertificates } from '../../api/meta/authority.ts';
import { privateFileProblem } from '../../api/meta/private-file.ts';
import { writeSecretFile } from '../../client/config/write-secret-file.ts';
import { readIfThere } from '../../client/informer/read-if-there.ts';
import type { NodeCertificate } from './request-certificate.ts';

/** The agent's client certificate and its trusted authorities, in memory and on disk. */
export interface HeldCertificate {
  /**
   * The same object until one of them is replaced. `ca` are the cluster's authorities (PEM), the one that signs first.
   */
  current(): NodeCertificate & { readonly ca: string };
  /** Keeps another one from now on; on disk first. */
  replace(next: NodeCertificate): Promise<void>;
  /** Trusts these authorities from now on; on disk first. Throws an Error for what is none. */
  trust(authorities: string): Promise<void>;
}

/**
 * What an agent of a joined machine has in <data directory>/pki: the cluster's authority, and its certificate and key
 * in one file, written whole or not at all.
 */
export function identityFiles(dataDir: string, nodeName: string): { readonly authority: string; readonly node: string } {
  return { authority: join(dataDir, 'pki', 'ca.crt'), node: join(dataDir, 'pki', `node-${nodeName}.pem`) };
}

/** Keeps what a machine got when it joined. */
export async function saveIdentity(dataDir: string, nodeName: string, authority: string, held: NodeCertificate): Promise<void> {
  const files = identityFiles(dataDir, nodeName);
  await mkdir(dirname(files.node), { recursive: true, mode: 0o700 });
  await chmod(dirname(files.node), 0o700);
  await writeSecretFile(files.authority, authority);
  await writeSecretFile(files.node, held.certificate + held.key);
}

/**
 * What a machine got when it joined; undefined when it has not. Throws an Error when it is damaged,
 * or when others may read its key.
 */
export async function readIdentity(
  dataDir: string,
  nodeName: string,
): Promise<{ readonly authority: string; readonly held: HeldCertificate } | undefined> {
  const files = identityFiles(dataDir, nodeName);
  const [authority, text] = await Promise.all([readIfThere(files.authority), readIfThere(files.node)]);
  if (authority === undefined || text === undefined) return undefined;
  const exposed = privateFileProblem(files.node, await stat(files.node), process.getuid?.());
  if (exposed) throw new Error(exposed);
  const pair = splitPem(text);
  if (pair === undefined)
    throw new Error(
      `${files.node} is damaged: it must hold the certificate of node ${nodeName} and its key; join again with a new token`,
    );
  const held = holdCertificate({
    first: { ...pair, ca: authority },
    save: (next) => writeSecretFile(files.node, next.certificate + next.key),
    saveAuthorities: (next) => writeSecretFile(files.authority, next),
  });
  return { authority, held };
}

export interface Keeping {
  readonly first: NodeCertificate & { readonly ca: string };
  readonly save: (next: NodeCertificate) => Promise<void>;
  /** Absent where another process keeps them. */
  readonly saveAuthorities?: (authorities: string) => Promise<void>;
}

export function holdCertificate({ first, save, saveAuthorities }: Keeping): HeldCertificate {
  let held = first;
  return {
    current: () => held,
    async replace(next) {
      await save(next);
      held = { ...next, ca: held.ca };
    },
    async trust(ca) {
      checkAuthorities(ca);
      await saveAuthorities?.(ca);
      held = { ...held, ca };
    },
  };
}

/** One, or two while one takes over from another; what is none would cut the agent off. */
const mostAuthorities = 2;

function checkAuthorities(text: string): void {
  const found = splitCertificates(text);
  if (found.length === 0 || found.length > mostAuthorities || !found.every((each) => new X509Certificate(each).ca))
    throw new Error('the server names no authorities that can be trusted; those from before go on counting');
}

/** A certificate and the key that fits it; undefined for anything else. */
export function splitPem(text: string): NodeCertificate | undefined {
  const block = (label: string): string | undefined =>
    new RegExp(`-----BEGIN ${label}-----[^-]*-----END ${label}-----\\n?`).exec(text)?.[0];
  const [certificate, key] = [block('CERTIFICATE'), block('PRIVATE KEY')];
  if (certificate === undefined || key === undefined) return undefined;
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)) ? { certificate, key } : undefined;
  } catch {
    // No certificate, or no key.
    return undefined;
  }
}
