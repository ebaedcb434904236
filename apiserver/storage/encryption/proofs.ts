import type { Storage } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type Keyring, keyringPath } from './keyring.ts';
import { open, seal } from './seal.ts';

/**
 * The store lists the keys that its values may be encrypted with, each with a value to verify it: a key file that is
 * missing, outdated or from another installation is found at the start, before anything is read or written. Backups
 * contain the list, and not the keys.
 */
export const proofsKey = 'server/secret-keys';
const proofText = 'berth';

/** By id. */
export type Proofs = ReadonlyMap<string, Buffer>;

export async function readProofs(storage: Storage): Promise<{ readonly proofs: Proofs; readonly revision: number }> {
  const stored = await storage.get(proofsKey);
  return { proofs: stored ? parseProofs(stored.bytes) : new Map(), revision: stored?.revision ?? 0 };
}

export function parseProofs(bytes: Uint8Array): Proofs {
  try {
    const ids = JSON.parse(Buffer.from(bytes).toString('utf8')) as Record<string, string>;
    return new Map(Object.entries(ids).map(([id, proof]) => [id, Buffer.from(proof, 'base64')]));
  } catch (cause) {
    throw new StorageError('corrupt', `read ${proofsKey}: it is no list of keys`, { cause });
  }
}

/**
 * Refuses keys that cannot decrypt the values of the store. `where` names the store, `dataDir` where the keys should
 * be.
 */
export function checkProofs(
  proofs: Proofs,
  keyring: Keyring | undefined,
  { where, dataDir }: { where: string; dataDir: string },
): void {
  const path = `${dataDir}/${keyringPath}`;
  const ids = [...proofs.keys()];
  const encrypted = `the Secrets in ${where} are encrypted`;
  const advice = 'put back the file that belongs to it and try again; nothing was changed';
  if (ids.length > 0 && !keyring)
    throw new StorageError(
      'no-key',
      `${encrypted} with the key ${ids.at(-1)}, and ${path}, which holds it, is not there: ${advice}`,
    );
  for (const [id, proof] of proofs) {
    if (!keyring?.keys.has(id))
      throw new StorageError('no-key', `${encrypted} with the key ${id}, which is not in ${path}: ${advice}`);
    try {
      open(proofsKey, proof, keyring);
    } catch (cause) {
      throw new StorageError('no-key', `${encrypted} with another key than the ${id} that is in ${path}: ${advice}`, { cause });
    }
  }
}

/** Notes the keys that the store does not know of yet, before anything is hidden with them. */
export async function noteKeys(storage: Storage, { keys }: Keyring): Promise<void> {
  const { proofs, revision } = await readProofs(storage);
  const missing = [...keys.values()].filter(({ id }) => !proofs.has(id));
  if (missing.length === 0) return;
  const all = [...proofs, ...missing.map((key) => [key.id, seal(proofsKey, Buffer.from(proofText), key)] as const)];
  const bytes = Buffer.from(JSON.stringify(Object.fromEntries(all.map(([id, proof]) => [id, proof.toString('base64')]))));
  const by = { user: 'system:apiserver', manager: 'apiserver' };
  const write = { kind: 'SecretKeys', bytes, ...by, durability: 'synced', urgent: true } as const;
  if (revision === 0) await storage.create(proofsKey, { ...write, verb: 'create' });
  else await storage.update(proofsKey, revision, { ...write, verb: 'update' });
}
