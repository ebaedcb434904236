import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { TokenKeys } from '../authn/accounts/token-keys.ts';
import { groups } from '../authn/identity.ts';
import { formatToken, parseTokens, type TokenTable } from '../authn/tokens.ts';
import { ensurePrivateDir, pkiDir, readIfThere, writePrivateFile } from './files.ts';
import { FrontProxy } from './front-proxy.ts';
import { HeldCertificates } from './held-certificates.ts';
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

const TOKENS = 'tokens';
const ADMIN_TOKEN = 'admin.token';

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

async function ensureTokens(dir: string): Promise<string> {
  const known = await readIfThere(join(dir, TOKENS));
  if (known !== undefined) return known;
  const token = randomBytes(32).toString('base64url');
  await writePrivateFile(join(dir, ADMIN_TOKEN), `${token}\n`);
  const text = formatToken(token, { user: 'admin', groups: [groups.masters] });
  await writePrivateFile(join(dir, TOKENS), text);
  return text;
}
