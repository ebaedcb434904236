import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock, type FakeClock } from '../../test/fakes/fake-clock.ts';
import { createMemoryStorage } from './memory/memory-storage.ts';
import { runCompaction } from './run-compaction.ts';
import type { Storage, Write } from './storage.ts';
import { StorageError } from './storage-error.ts';

const minute = 60_000;
const write: Write = { kind: 'Pod', bytes: Buffer.from('x'), user: 'a', manager: 'b', verb: 'create', durability: 'synced' };
const isKept = (storage: Storage, revision: number): Promise<boolean> =>
  storage.list('', { revision }).then(
    () => true,
    () => false,
  );

describe('the compaction loop', () => {
  let clock: FakeClock;
  let storage: Storage;
  let abort: AbortController;
  beforeEach(() => {
    clock = createFakeClock();
    storage = createMemoryStorage({ clock });
    abort = new AbortController();
  });
  afterEach(() => abort.abort());

  it('keeps history for its time and forgets it then', async () => {
    const running = runCompaction(storage, { keepMs: 10 * minute, everyMs: minute, clock }, abort.signal);
    await storage.create('pods/a', write);
    await clock.advance(minute);
    await storage.update('pods/a', 1, write);
    await clock.advance(9 * minute);
    expect(await isKept(storage, 1)).toBe(true);
    await clock.advance(3 * minute);
    expect(await isKept(storage, 1)).toBe(false);
    expect(await isKept(storage, 2)).toBe(true);
    abort.abort();
    await running;
  });

  it('knows after a restart how old the history is', async () => {
    await storage.create('pods/a', write);
    await clock.advance(9 * minute);
    await storage.update('pods/a', 1, write);
    await clock.advance(2 * minute);
    await storage.update('pods/a', 2, write);
    void runCompaction(storage, { keepMs: minute, everyMs: minute, clock }, abort.signal);
    await clock.advance(0);
    expect(await isKept(storage, 1)).toBe(false);
    expect(await isKept(storage, 2)).toBe(true);
  });

  it('asks for nothing when nothing was written', async () => {
    await storage.create('pods/a', write);
    const asked: number[] = [];
    const counted: Storage = Object.assign(Object.create(storage) as Storage, {
      history: storage.history,
      compact: async (revision: number) => void asked.push(revision),
    });
    void runCompaction(counted, { keepMs: 10 * minute, everyMs: minute, clock }, abort.signal);
    await clock.advance(100 * minute);
    expect(asked.length).toBeLessThanOrEqual(10);
    expect(new Set(asked)).toEqual(new Set([1]));
  });

  it('reports a failure and tries again', async () => {
    await storage.create('pods/a', write);
    const errors: string[] = [];
    let failing = true;
    let compacted = 0;
    const flaky: Storage = Object.assign(Object.create(storage) as Storage, {
      history: storage.history,
      compact: async (revision: number) => {
        if (failing) throw new StorageError('no-space', 'full');
        compacted = revision;
      },
    });
    void runCompaction(
      flaky,
      { keepMs: minute, everyMs: minute, clock, onError: (error) => errors.push(error.code) },
      abort.signal,
    );
    await clock.advance(2 * minute);
    expect(errors).toContain('no-space');
    failing = false;
    await clock.advance(minute);
    expect(compacted).toBe(1);
  });

  it('ends when the store is closed', async () => {
    const running = runCompaction(storage, { everyMs: minute, clock }, abort.signal);
    await storage.close();
    await clock.advance(minute);
    await running;
  });
});
