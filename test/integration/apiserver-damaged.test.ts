import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { runServer } from '../../apiserver/main.ts';
import { createMemoryStorage } from '../../apiserver/storage/memory/memory-storage.ts';
import type { Storage } from '../../apiserver/storage/storage.ts';
import { StorageError } from '../../apiserver/storage/storage-error.ts';
import type { OpenedStore } from '../../apiserver/store-files.ts';

/** Ends the storage's watch as a damaged log does. */
const damage = vi.hoisted(() => new AbortController());

vi.mock('../../apiserver/store-files.ts', () => ({
  rewriteSecrets: async () => {},
  openStore: async (): Promise<OpenedStore> => {
    const storage = createMemoryStorage();
    const inner = storage.watch.bind(storage);
    const watch: Storage['watch'] = async function* (options, signal) {
      yield* inner(options, AbortSignal.any([signal, damage.signal]));
      if (damage.signal.aborted) throw new StorageError('corrupt', 'the log is damaged');
    };
    return { storage: Object.assign(storage, { watch }), secretKeys: undefined };
  },
}));

test('a server whose store is damaged while it serves stops and says so, instead of showing old objects for ever', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-damaged-'));
  let running: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    const options = { dataDir, listen: '127.0.0.1:0', backend: 'memory', log: pino({ level: 'silent' }) } as const;
    running = runServer({ ...options, ready: () => resolve() }, new AbortController().signal);
    running.catch(reject);
  });
  damage.abort();
  await expect(running).rejects.toMatchObject({ code: 'corrupt' });
  await rm(dataDir, { recursive: true, force: true });
});
