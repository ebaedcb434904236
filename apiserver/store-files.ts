import { join } from 'node:path';
import { kinds as apiKinds } from '../api/kinds/index.ts';
import type { ServerOptions } from './options.ts';
import { readKeyring } from './storage/encryption/keyring.ts';
import { checkProofs, parseProofs, proofsKey } from './storage/encryption/proofs.ts';
import { openSecretKeys, type SecretKeys } from './storage/encryption/secret-keys.ts';
import { type Restored, restoreStore } from './storage/lmdb/restore.ts';
import { type Shrunk, shrinkStore } from './storage/lmdb/shrink.ts';
import { openStorage } from './storage/open-storage.ts';
import type { StorageRecord } from './storage/record.ts';
import type { Storage } from './storage/storage.ts';
import { commitMeter } from './storage-metrics.ts';

/** Where the server keeps its objects. */
export interface OpenedStore {
  /** Through which everything is read and written. */
  readonly storage: Storage;
  /** Absent where nothing is kept that outlives the process. */
  readonly secretKeys: SecretKeys | undefined;
}

/** Opens what the server's configuration names; what is confidential is encrypted on the disk. */
export async function openStore(options: ServerOptions): Promise<OpenedStore> {
  const storage = await openBackend(options);
  if (options.backend === 'memory') return { storage, secretKeys: undefined };
  try {
    const { dataDir, kinds = apiKinds } = options;
    const secretKeys = await openSecretKeys({ dataDir, storage, kinds, now: new Date() });
    return { storage: secretKeys.storage, secretKeys };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

async function openBackend({ backend, dataDir, log, historyBytes, metrics, storage }: ServerOptions): Promise<Storage> {
  if (storage) return storage;
  const bound = historyBytes === undefined ? {} : { maxHistoryBytes: historyBytes };
  if (backend === 'memory') return openStorage({ backend, ...bound });
  const onCommit = metrics && { onCommit: commitMeter(metrics) };
  return openStorage({ backend, directory: storeDir(dataDir), limits: bound, notice: (text) => log.info(text), ...onCommit });
}

/**
 * Mends what a rotation left undone, and what was stored before there were keys. Never rejects; the next start goes on.
 */
export async function rewriteSecrets(
  { secretKeys: keys }: OpenedStore,
  log: ServerOptions['log'],
  signal: AbortSignal,
): Promise<void> {
  try {
    const rewritten = (await keys?.rewrite(signal)) ?? 0;
    if (rewritten > 0) log.info({ rewritten, key: keys?.currentId() }, 'Secrets were encrypted with the current key');
  } catch (error) {
    log.warn({ err: error }, 'Secrets could not be encrypted with the current key: the next start goes on with it');
  }
}

function storeDir(dataDir: string): string {
  return join(dataDir, 'store');
}

export interface RestoreInput {
  readonly dataDir: string;
  /** The bytes of a backup, and what they are called in messages. */
  readonly backup: AsyncIterable<Buffer>;
  readonly name: string;
  /** Moves a store that is there aside. */
  readonly force: boolean;
}

/** For `berth restore`, while no server runs. Throws StorageError; the message says what to do. */
export async function restoreFiles({ dataDir, ...input }: RestoreInput): Promise<Restored> {
  const keyring = await readKeyring(dataDir);
  const check = ({ key, bytes }: StorageRecord): void => {
    if (key === proofsKey) checkProofs(parseProofs(bytes), keyring, { where: input.name, dataDir });
  };
  return restoreStore({ ...input, check, directory: storeDir(dataDir), now: new Date() });
}

/** For `berth compact`, while no server runs. Throws StorageError; the message says what to do. */
export function compactFiles(dataDir: string, notice: (text: string) => void): Promise<Shrunk> {
  return shrinkStore(storeDir(dataDir), notice);
}
