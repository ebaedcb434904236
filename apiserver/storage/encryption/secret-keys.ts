import { keyPrefixOf } from '../../../api/kinds/identity.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import type { Storage, StoredObject } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { type Keyring, readKeyring, withNewKey, writeKeyring } from './keyring.ts';
import { checkProofs, noteKeys, readProofs } from './proofs.ts';
import { open, sealedWith } from './seal.ts';
import { createSealedStorage } from './sealed-storage.ts';

/** Encryption of what is confidential, as it stands on the disk. */
export interface SecretKeys {
  /** The store through which all reads and writes go. */
  readonly storage: Storage;
  readonly currentId: () => string;
  /**
   * Makes a new key that counts from now on, then writes everything anew with it. Old values can be read all the while.
   * One at a time.
   */
  rotate(now: Date): Promise<Rotation>;
  /**
   * Writes anew what is not hidden with the current key: what stood there before there were keys, or where a rotation
   * was cut off. Ends early when the signal aborts; a later call goes on.
   */
  rewrite(signal: AbortSignal): Promise<number>;
}

export interface Rotation {
  readonly keyId: string;
  /** How many objects were written anew. */
  readonly rewritten: number;
}

export interface SecretKeysOptions {
  readonly dataDir: string;
  /** The store itself, of which backups are made too. */
  readonly storage: Storage;
  readonly kinds: readonly Kind[];
  readonly now: Date;
}

/** At once; writes that are under way together share a sync of the disk. */
const pageItems = 32;

/**
 * Finds the keys of a data directory, or makes the first one. Throws `no-key` when the store was written with keys that
 * are not there: then nothing was changed, and no new key was made.
 */
export async function openSecretKeys({ dataDir, storage, kinds, now }: SecretKeysOptions): Promise<SecretKeys> {
  const found = await readKeyring(dataDir);
  const { proofs } = await readProofs(storage);
  checkProofs(proofs, found, { where: `${dataDir}/store`, dataDir });
  let keyring = found ?? withNewKey(undefined, now);
  // Before the store knows of it: a key that nothing was hidden with may be lost.
  if (!found) await writeKeyring(dataDir, keyring);
  await noteKeys(storage, keyring);
  const confidential = new Map(kinds.filter((kind) => kind.confidential).map((kind) => [keyPrefixOf(kind), kind]));
  const prefixOf = (key: string) => key.slice(0, key.indexOf('/') + 1);
  const sealed = createSealedStorage(storage, { keyring: () => keyring, isSealed: (key) => confidential.has(prefixOf(key)) });
  let rotating = false;

  async function rewrite(signal: AbortSignal): Promise<number> {
    let rewritten = 0;
    for (const [prefix, kind] of confidential) {
      let after: string | undefined;
      for (;;) {
        const page = await storage.list(prefix, { limit: pageItems, ...(after !== undefined && { after }) });
        const old = page.items.filter(({ bytes }) => sealedWith(bytes) !== keyring.current.id);
        const done = await Promise.all(old.map((each) => rewriteOne(each, kind)));
        rewritten += done.filter(Boolean).length;
        after = page.items.at(-1)?.key;
        if (!page.more || signal.aborted) break;
      }
    }
    return rewritten;
  }

  /** False when another writer was faster: then that encrypted it with the current key. */
  async function rewriteOne({ key, bytes, revision }: StoredObject, { kind, durability }: Kind): Promise<boolean> {
    const by = { user: 'system:apiserver', manager: 'apiserver', verb: 'update' };
    try {
      await sealed.update(key, revision, { kind, durability, ...by, bytes: open(key, bytes, keyring) });
      return true;
    } catch (error) {
      if (error instanceof StorageError && (error.code === 'mismatch' || error.code === 'not-found')) return false;
      throw error;
    }
  }

  async function makeKey(at: Date): Promise<Keyring> {
    const next = withNewKey(keyring, at);
    await writeKeyring(dataDir, next);
    await noteKeys(storage, next);
    return next;
  }

  return {
    storage: sealed,
    currentId: () => keyring.current.id,
    rewrite,
    async rotate(at) {
      if (rotating) throw new StorageError('busy', 'another rotation is under way: wait until it has ended');
      rotating = true;
      try {
        keyring = await makeKey(at);
        return { keyId: keyring.current.id, rewritten: await rewrite(new AbortController().signal) };
      } finally {
        rotating = false;
      }
    },
  };
}
