import { createMemoryStorage } from './memory/memory-storage.ts';
import type { Storage } from './storage.ts';
import type { WatcherLimits } from './watchers.ts';

export interface OpenStorageOptions {
  readonly backend: 'memory';
  readonly watcherLimits?: WatcherLimits;
}

/** Opens the store that the server's configuration names. */
export async function openStorage(options: OpenStorageOptions): Promise<Storage> {
  return createMemoryStorage(options);
}
