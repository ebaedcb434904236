import { type LmdbStorageOptions, openLmdbStorage } from './lmdb/open-lmdb-storage.ts';
import { createMemoryStorage, type MemoryStorageOptions } from './memory/memory-storage.ts';
import type { Storage } from './storage.ts';

export type OpenStorageOptions =
  | ({ readonly backend: 'memory' } & MemoryStorageOptions)
  | ({ readonly backend: 'lmdb' } & LmdbStorageOptions);

/** Opens the store that the server's configuration names. Run `runCompaction` (run-compaction.ts) beside it. */
export async function openStorage(options: OpenStorageOptions): Promise<Storage> {
  switch (options.backend) {
    case 'memory':
      return createMemoryStorage(options);
    case 'lmdb':
      return openLmdbStorage(options);
  }
}
