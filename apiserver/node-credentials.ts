import { join } from 'node:path';
import { groups, nodeUser } from './authn/identity.ts';
import { openAuthorities, trustedOf } from './pki/authorities.ts';
import type { KeyPair } from './pki/certificate-facts.ts';
import { ensurePrivateDir, pkiDir } from './pki/files.ts';
import { ensurePair, writePair } from './pki/held-certificates.ts';
import { refuseExposed } from './pki/private-files.ts';

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

/**
 * Issues (or finds) the client certificate of a node's agent: user system:node:NAME, group system:nodes. For the agent
 * on the server's machine, which imports this file alone: the rest of the API server would be 10 MB of its memory.
 */
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
