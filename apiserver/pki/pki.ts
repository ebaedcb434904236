import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { TokenKeys } from '../authn/accounts/token-keys.ts';
import { groups, nodeUser } from '../authn/identity.ts';
import { formatToken, parseTokens, type TokenTable } from '../authn/tokens.ts';
import { openAuthorities, trustedOf } from './authorities.ts';
import type { KeyPair } from './certificates.ts';
import { ensurePrivateDir, readIfThere, writePrivateFile } from './files.ts';
import { FrontProxy } from './front-proxy.ts';
import { ensurePair, HeldCertificates, writePair } from './held-certificates.ts';
import { refuseExposed } from './private-files.ts';

/** What the server needs to listen. */
export interface ServerPki {
  readonly certificates: HeldCertificates;
  /** With what it speaks to extension servers. */
  readonly frontProxy: FrontProxy;
  readonly tokens: TokenTable;
  /** What signs tokens of service accounts. */
  readonly tokenKeys: TokenKeys;
}

/** The certificate of a node, where it lies, and how it is kept. */
export interface NodeCredentials {
  /** Files: of the authorities, of the certificate, of its key. */
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
  /** The authorities' certificates, PEM: one, or two while another one takes over. */
  readonly authority: string;
  readonly pair: KeyPair;
  /** Keeps another one in its place. */
  readonly save: (next: KeyPair) => Promise<void>;
}

const TOKENS = 'tokens';
const ADMIN_TOKEN = 'admin.token';

export function pkiDir(dataDir: string): string {
  return join(dataDir, 'pki');
}

/**
 * Makes sure that the data directory holds an authority, a server certificate for the hosts, client certificates of the
 * admin and the components, and an admin token, and that others cannot read its keys. `hosts` are names and addresses
 * that clients use besides this machine's own.
 */
export async function ensurePki(dataDir: string, hosts: readonly string[], now: () => Date): Promise<ServerPki> {
  const dir = pkiDir(dataDir);
  await ensurePrivateDir(dir);
  await refuseExposed(dataDir, dir);
  const certificates = await HeldCertificates.open({ dir, hosts, now });
  const frontProxy = await FrontProxy.open({ dir, now });
  const tokenKeys = await TokenKeys.open(join(dir, 'service-accounts'), now().getTime());
  return { certificates, frontProxy, tokens: parseTokens(await ensureTokens(dir)), tokenKeys };
}

/** Issues (or finds) the client certificate of a node's agent: user system:node:NAME, group system:nodes. */
export async function issueNodeCredentials(dataDir: string, nodeName: string): Promise<NodeCredentials> {
  const dir = pkiDir(dataDir);
  const now = new Date();
  await ensurePrivateDir(dir);
  await refuseExposed(dataDir, dir);
  const name = `node-${nodeName}`;
  const authorities = await openAuthorities(dir, now);
  const subject = { commonName: nodeUser(nodeName), organizations: [groups.nodes] };
  const pair = await ensurePair(dir, name, { signer: authorities.signer, subject, hosts: undefined }, now);
  const [ca, certificate, key] = ['ca.crt', `${name}.crt`, `${name}.key`].map((file) => join(dir, file)) as [
    string,
    string,
    string,
  ];
  const save = async (next: KeyPair): Promise<void> => void (await writePair(dir, name, next));
  return { ca, certificate, key, authority: trustedOf(authorities), pair, save };
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
