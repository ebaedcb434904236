import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { runServer } from '../../apiserver/main.ts';
import { createMemoryStorage } from '../../apiserver/storage/memory/memory-storage.ts';
import type { Storage } from '../../apiserver/storage/storage.ts';
import { StorageError } from '../../apiserver/storage/storage-error.ts';

/** A storage whose watch fails, as that of a damaged log does, once the signal aborts. */
function createDamagedStorage(damaged: AbortSignal): Storage {
  const storage = createMemoryStorage();
  const inner = storage.watch.bind(storage);
  const watch: Storage['watch'] = async function* (options, signal) {
    yield* inner(options, AbortSignal.any([signal, damaged]));
    if (damaged.aborted) throw new StorageError('corrupt', 'the log is damaged');
  };
  return Object.assign(storage, { watch });
}

test('a server whose store is damaged while it serves stops and says so, instead of showing old objects for ever', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-damaged-'));
  const damage = new AbortController();
  const storage = createDamagedStorage(damage.signal);
  let running: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    const options = { dataDir, listen: '127.0.0.1:0', backend: 'memory', storage, log: pino({ level: 'silent' }) } as const;
    running = runServer({ ...options, ready: () => resolve() }, new AbortController().signal);
    running.catch(reject);
  });
  damage.abort();
  await expect(running).rejects.toMatchObject({ code: 'corrupt' });
  await rm(dataDir, { recursive: true, force: true });
});
