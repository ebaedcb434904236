import { join } from 'node:path';
import type { ServerOptions } from './options.ts';
import { type Restored, restoreStore } from './storage/lmdb/restore.ts';
import { type Shrunk, shrinkStore } from './storage/lmdb/shrink.ts';
import { openStorage } from './storage/open-storage.ts';
import type { Storage } from './storage/storage.ts';
import { commitMeter } from './storage-metrics.ts';

/** Opens what the server's configuration names. */
export function openStore({ backend, dataDir, log, historyBytes, metrics }: ServerOptions): Promise<Storage> {
  const bound = historyBytes === undefined ? {} : { maxHistoryBytes: historyBytes };
  if (backend === 'memory') return openStorage({ backend, ...bound });
  const onCommit = metrics && { onCommit: commitMeter(metrics) };
  return openStorage({ backend, directory: storeDir(dataDir), limits: bound, notice: (text) => log.info(text), ...onCommit });
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
export function restoreFiles({ dataDir, ...input }: RestoreInput): Promise<Restored> {
  return restoreStore({ ...input, directory: storeDir(dataDir), now: new Date() });
}

/** For `berth compact`, while no server runs. Throws StorageError; the message says what to do. */
export function compactFiles(dataDir: string, notice: (text: string) => void): Promise<Shrunk> {
  return shrinkStore(storeDir(dataDir), notice);
}
