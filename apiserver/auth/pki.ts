import { randomBytes } from 'node:crypto';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { TokenKeys } from './accounts/token-keys.ts';
import { createAuthority, inspectCertificate, issueCertificate, type KeyPair, type Subject } from './certificates.ts';
import { ensurePrivateDir, readIfThere, writePrivateFile } from './files.ts';
import { controlPlane, groups, nodeUser } from './identity.ts';
import { formatToken, parseTokens, type TokenTable } from './tokens.ts';

/** What the server needs to listen. */
export interface ServerPki {
  readonly ca: string;
  /** What signs certificates. */
  readonly authority: KeyPair;
  readonly server: KeyPair;
  readonly tokens: TokenTable;
  /** What signs tokens of service accounts. */
  readonly tokenKeys: TokenKeys;
}

/** The certificate of a node, where it lies, and how it is kept. */
export interface NodeCredentials {
  /** Files: of the authority, of the certificate, of its key. */
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
  /** The authority's certificate, PEM. */
  readonly authority: string;
  readonly pair: KeyPair;
  /** Keeps another one in its place. */
  readonly save: (next: KeyPair) => Promise<void>;
}

/** A certificate this near its end is replaced at the next start. */
const RENEW_BEFORE_MS = 60 * 24 * 3600_000;
const TOKENS = 'tokens';
const ADMIN_TOKEN = 'admin.token';

const components: Readonly<Record<string, Subject>> = {
  admin: { commonName: 'admin', organizations: [groups.masters] },
  scheduler: { commonName: controlPlane.scheduler, organizations: [] },
  controllers: { commonName: controlPlane.controllers, organizations: [] },
};

export function pkiDir(dataDir: string): string {
  return join(dataDir, 'pki');
}

/**
 * Makes sure that the data directory holds an authority, a server certificate for the hosts, client certificates of the admin and the
 * components, and an admin token; makes what is missing, near its end, or for other hosts. `hosts` are names and addresses that clients
 * use besides this machine's own.
 */
export async function ensurePki(dataDir: string, hosts: readonly string[], now: Date): Promise<ServerPki> {
  const dir = pkiDir(dataDir);
  await ensurePrivateDir(dir);
  const authority = await ensureAuthority(dir, now);
  const server = await ensurePair(dir, 'server', authority, { commonName: 'berth', organizations: [] }, now, allHosts(hosts));
  for (const [name, subject] of Object.entries(components)) await ensurePair(dir, name, authority, subject, now);
  const tokenKeys = await TokenKeys.open(join(dir, 'service-accounts'), now.getTime());
  return { ca: authority.certificate, authority, server, tokens: parseTokens(await ensureTokens(dir)), tokenKeys };
}

/** Issues (or finds) the client certificate of a node's agent: user system:node:NAME, group system:nodes. */
export async function issueNodeCredentials(dataDir: string, nodeName: string): Promise<NodeCredentials> {
  const dir = pkiDir(dataDir);
  const now = new Date();
  await ensurePrivateDir(dir);
  const name = `node-${nodeName}`;
  const authority = await ensureAuthority(dir, now);
  const subject = { commonName: nodeUser(nodeName), organizations: [groups.nodes] };
  const pair = await ensurePair(dir, name, authority, subject, now);
  const [ca, certificate, key] = ['ca.crt', `${name}.crt`, `${name}.key`].map((file) => join(dir, file)) as [
    string,
    string,
    string,
  ];
  const save = async (next: KeyPair): Promise<void> => void (await writePair(dir, name, next));
  return { ca, certificate, key, authority: authority.certificate, pair, save };
}

function allHosts(given: readonly string[]): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const routable = addresses.filter(({ address }) => !address.startsWith('fe80:')).map(({ address }) => address);
  return [...new Set(['localhost', '127.0.0.1', '::1', hostname(), ...given, ...routable])].filter(
    (host) => host !== '' && host !== '0.0.0.0' && host !== '::',
  );
}

async function readPair(dir: string, name: string): Promise<KeyPair | undefined> {
  const [certificate, key] = await Promise.all([readIfThere(join(dir, `${name}.crt`)), readIfThere(join(dir, `${name}.key`))]);
  return certificate && key ? { certificate, key } : undefined;
}

/** The key first: a certificate without its key would be taken for a damaged folder, a key without its certificate is made again. */
async function writePair(dir: string, name: string, pair: KeyPair): Promise<KeyPair> {
  await writePrivateFile(join(dir, `${name}.key`), pair.key);
  await writePrivateFile(join(dir, `${name}.crt`), pair.certificate);
  return pair;
}

async function ensureAuthority(dir: string, now: Date): Promise<KeyPair> {
  const known = await readPair(dir, 'ca');
  return known ?? writePair(dir, 'ca', await createAuthority('berth-ca', now));
}

async function ensurePair(
  dir: string,
  name: string,
  authority: KeyPair,
  subject: Subject,
  now: Date,
  hosts?: string[],
): Promise<KeyPair> {
  const known = await readPair(dir, name);
  if (known && (await isStillGood(authority, known, now, hosts))) return known;
  try {
    return await writePair(dir, name, await issueCertificate(authority, subject, hosts, now));
  } catch (error) {
    // On a full disk the server still reads: with a pair that lacks a new address of this machine rather than not at all.
    if (known && isFullDisk(error) && (await isUsable(authority, known, now))) return known;
    throw error;
  }
}

function isFullDisk(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

async function isUsable(authority: KeyPair, pair: KeyPair, now: Date): Promise<boolean> {
  const { signed, fits, notAfter } = await inspectCertificate(authority.certificate, pair);
  return signed && fits && notAfter > now;
}

/** A pair that was cut off between its two files would not fit together; the issuer's signature and the end are what can change else. */
async function isStillGood(authority: KeyPair, pair: KeyPair, now: Date, hosts: readonly string[] | undefined): Promise<boolean> {
  const facts = await inspectCertificate(authority.certificate, pair);
  if (!facts.signed || !facts.fits || facts.notAfter.getTime() - now.getTime() < RENEW_BEFORE_MS) return false;
  return hosts === undefined || hosts.every((host) => facts.hosts.includes(host));
}

async function ensureTokens(dir: string): Promise<string> {
  const known = await readIfThere(join(dir, TOKENS));
  if (known !== undefined) return known;
  const token = randomBytes(32).toString('base64url');
  await writePrivateFile(join(dir, ADMIN_TOKEN), `${token}\n`);
  const text = formatToken(token, { user: 'admin', groups: [groups.masters] });
  await writePrivateFile(join(dir, TOKENS), text);
  return text;
}
