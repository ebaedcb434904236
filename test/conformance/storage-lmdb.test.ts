import { cp, mkdtemp, open as openFile, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { translateStorageError } from '../../apiserver/registry/storage-errors.ts';
import { mostMappedBytes, releaseEveryMs } from '../../apiserver/storage/lmdb/mapped-pages.ts';
import { assembleLmdbStorage, type LmdbStorageOptions } from '../../apiserver/storage/lmdb/open-lmdb-storage.ts';
import { openTables, type Tables, withBatch } from '../../apiserver/storage/lmdb/tables.ts';
import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Storage } from '../../apiserver/storage/storage.ts';
import { mappedMegabytes } from '../../bench/process-costs.ts';
import { createFakeClock, type FakeClock, settle } from '../fakes/fake-clock.ts';
import { listed, refusal, WatchReader, write } from './storage-backends.ts';

let room: string;
let directory: string;
let opened: Storage[];
let abort: AbortController;

beforeEach(async () => {
  room = await mkdtemp(join(tmpdir(), 'berth-storage-'));
  directory = join(room, 'store');
  opened = [];
  abort = new AbortController();
});
afterEach(async () => {
  abort.abort();
  await Promise.all(opened.map((storage) => storage.close().catch(() => undefined)));
  await rm(room, { recursive: true, force: true });
});

async function open(options: Partial<LmdbStorageOptions> = {}): Promise<Storage> {
  const storage = await openStorage({ backend: 'lmdb', directory, ...options });
  opened.push(storage);
  return storage;
}

/** What a crash at this moment leaves: the file as it is now, without a clean stop. */
async function crash(): Promise<string> {
  const copy = join(room, 'after-crash');
  await cp(directory, copy, { recursive: true, filter: (source) => !source.endsWith('lock.mdb') });
  return copy;
}

describe('reopening the lmdb storage', () => {
  it('finds every object, the history, the revision and the compaction as they were', async () => {
    const first = await open();
    await first.create('pods/a', write('1'));
    await first.update('pods/a', 1, write('2'));
    await first.create('leases/a', write('3', 'relaxed'));
    await first.update('pods/a', 2, write('4'));
    await first.compact(2);
    await first.close();
    const second = await open();
    expect(await listed(second)).toEqual(['leases/a=3@3', 'pods/a=4@4']);
    expect(await listed(second, 'pods/', { revision: 3 })).toEqual(['pods/a=2@2']);
    expect(await new WatchReader(second.watch({ prefix: '', from: 2 }, abort.signal)).take(2)).toEqual([
      'put leases/a=3@3',
      'put pods/a=4@4',
    ]);
    expect(await second.create('pods/b', write('5'))).toBe(5);
  });

  it('forgets relaxed keys that were deleted', async () => {
    const first = await open();
    await first.create('leases/a', write('1', 'relaxed'));
    await first.close();
    const second = await open();
    await second.delete('leases/a', 1, write('1', 'relaxed'));
    await second.close();
    expect(await listed(await open())).toEqual([]);
  });

  it('keeps acknowledged synced writes through a crash, may lose relaxed ones, and uses no revision twice', async () => {
    const first = await open();
    await first.create('pods/a', write('1'));
    const lost = await first.create('leases/a', write('2', 'relaxed'));
    directory = await crash();
    const second = await open();
    expect(await listed(second)).toEqual(['pods/a=1@1']);
    expect(await second.create('pods/b', write('3'))).toBeGreaterThan(lost);
  });

  it('uses no revision twice after a crash behind more relaxed writes than one block reserves', async () => {
    const first = await open();
    let revision = await first.create('leases/a', write('x', 'relaxed'));
    for (let i = 0; i < 12_000; i++) revision = await first.update('leases/a', revision, write('x', 'relaxed'));
    directory = await crash();
    expect(await (await open()).create('pods/a', write('1'))).toBeGreaterThan(revision);
  });
});

describe('opening the lmdb storage', () => {
  it('is refused while it is open, and possible after the close', async () => {
    const first = await open();
    expect(await refusal(open())).toMatchObject({ code: 'locked' });
    await first.close();
    await open();
  });

  it('is refused for a newer format, without touching anything', async () => {
    await (await open()).close();
    await writeFile(join(directory, 'format'), 'berth-store 3\n');
    expect(await refusal(open())).toMatchObject({ code: 'newer-format' });
    await writeFile(join(directory, 'format'), 'berth-store 2\n');
    await open();
  });

  it.each([
    ['a database without a format', (): Promise<void> => rm(join(directory, 'format'))],
    ['a damaged format', (): Promise<void> => writeFile(join(directory, 'format'), 'no')],
  ])('is refused for %s', async (_, damage) => {
    const first = await open();
    await first.create('pods/a', write('1'));
    await first.close();
    await damage();
    expect(await refusal(open())).toMatchObject({ code: 'corrupt' });
  });

  it('is refused after an unclean stop when a record is damaged', async () => {
    const first = await open();
    await first.create('pods/a', write('find-me-in-the-file'));
    directory = await crash();
    const path = join(directory, 'data.mdb');
    const bytes = await readFile(path);
    bytes.write('F', bytes.indexOf('find-me-in-the-file'));
    await writeFile(path, bytes);
    expect(await refusal(open())).toMatchObject({ code: 'corrupt' });
  });

  it('is refused after an unclean stop when the file is cut off, and this process lives on', async () => {
    const first = await open();
    for (let i = 0; i < 100; i++) await first.create(`pods/${i}`, write('x'.repeat(3000)));
    directory = await crash();
    await truncate(join(directory, 'data.mdb'), 40_000);
    expect(await refusal(open())).toMatchObject({ code: 'corrupt' });
  });

  it('finds a record that is damaged while it is open when it is read', async () => {
    const storage = await open();
    await storage.create('pods/a', write('find-me-in-the-file'));
    const file = await openFile(join(directory, 'data.mdb'), 'r+');
    const bytes = await file.readFile();
    for (let at = bytes.indexOf('find-me'); at >= 0; at = bytes.indexOf('find-me', at + 1)) await file.write('F', at);
    await file.close();
    expect(await refusal(storage.get('pods/a'))).toMatchObject({ code: 'corrupt' });
  });
});

/** A store whose commits the test counts, holds back, or fails. */
class Disk {
  commits = 0;
  failure: Error | undefined;
  #gate: Promise<void> | undefined;
  #open: () => void = () => undefined;

  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  letGo(): void {
    this.#open();
    this.#gate = undefined;
  }

  wrap(tables: Tables): Tables {
    const batch = async (action: () => unknown): Promise<boolean> => {
      this.commits += 1;
      if (this.failure) throw this.failure;
      const done = await tables.root.batch(action);
      await this.#gate;
      return done;
    };
    return withBatch(tables, batch);
  }
}

async function openOn(disk: Disk, options: Partial<LmdbStorageOptions> = {}): Promise<Storage> {
  await (await open()).close();
  const lock = { release: async () => undefined };
  const storage = assembleLmdbStorage({ directory, ...options }, lock, disk.wrap(openTables(directory, { readOnly: false })));
  opened.push(storage);
  return storage;
}

describe('the lmdb storage and its disk', () => {
  it('neither acknowledges nor shows a synced write, nor anything after it, before it is on disk', async () => {
    const disk = new Disk();
    const storage = await openOn(disk);
    const seen: string[] = [];
    const reader = new WatchReader(storage.watch({ prefix: '' }, abort.signal));
    const shown = reader.take(2).then(() => seen.push('watch'));
    disk.hold();
    const synced = storage.create('pods/a', write('1')).then(() => seen.push('synced'));
    const relaxed = storage.create('leases/a', write('2', 'relaxed')).then(() => seen.push('relaxed'));
    for (let i = 0; i < 20; i++) await settle();
    expect(disk.commits).toBe(1);
    expect(seen).toEqual([]);
    expect(await listed(storage)).toEqual([]);
    disk.letGo();
    await Promise.all([shown, synced, relaxed]);
    expect(await listed(storage)).toEqual(['leases/a=2@2', 'pods/a=1@1']);
  });

  it('hands the memo of a write to its watchers, and keeps none in the history', async () => {
    const storage = await openOn(new Disk());
    const [live, memo] = [new WatchReader(storage.watch({ prefix: '' }, abort.signal)), {}];
    await storage.create('pods/a', { ...write('1'), memo });
    expect((await live.next()).value?.[0]?.memo).toBe(memo);
    const later = new WatchReader(storage.watch({ prefix: '', from: 0 }, abort.signal));
    expect((await later.next()).value).toEqual([expect.not.objectContaining({ memo })]);
  });

  it('commits everything that waits together', async () => {
    const disk = new Disk();
    const storage = await openOn(disk);
    await Promise.all(Array.from({ length: 500 }, (_, i) => storage.create(`pods/${i}`, write('x'))));
    expect(disk.commits).toBeLessThanOrEqual(2);
  });

  it('costs an idle node at most one commit in 10 seconds, and nothing when nothing changes', async () => {
    const disk = new Disk();
    const clock: FakeClock = createFakeClock();
    const storage = await openOn(disk, { clock });
    let lease = await storage.create('leases/n1', write('0', 'relaxed'));
    disk.commits = 0;
    for (let second = 10; second <= 600; second += 10) {
      await clock.advance(10_000);
      lease = await storage.update('leases/n1', lease, write(`${second}`, 'relaxed'));
    }
    await letCommitsFinish();
    expect(disk.commits).toBeGreaterThan(10);
    expect(disk.commits).toBeLessThanOrEqual(60);
    await clock.advance(60_000);
    await letCommitsFinish();
    disk.commits = 0;
    await clock.advance(3_600_000);
    await letCommitsFinish();
    expect(disk.commits).toBe(0);
  });

  it('gives mapped pages of the file back after five minutes, and goes on', async () => {
    const clock = createFakeClock();
    let mappedBytes = 0;
    const storage = await openOn(new Disk(), { clock, mappedBytes: () => mappedBytes });
    const live = new WatchReader(storage.watch({ prefix: '' }, abort.signal));
    for (let i = 0; i < 16; i++) await storage.create(`pods/${i}`, write('x'.repeat(1_000_000)));
    await live.take(16);
    expect((await storage.list('')).items).toHaveLength(16);
    expect(mappedMegabytes(process.pid, join(directory, 'data.mdb'))).toBeGreaterThan(12);
    mappedBytes = mostMappedBytes;
    await clock.advance(releaseEveryMs);
    await storage.create('pods/a', write('1'));
    await letCommitsFinish();
    expect(mappedMegabytes(process.pid, join(directory, 'data.mdb'))).toBeGreaterThan(12);
    mappedBytes++;
    await clock.advance(releaseEveryMs);
    const [revision] = await Promise.all([storage.create('pods/b', write('2')), storage.create('pods/c', write('3'))]);
    await letCommitsFinish();
    expect(mappedMegabytes(process.pid, join(directory, 'data.mdb'))).toBeLessThan(1);
    await storage.update('pods/b', revision, write('4'));
    expect(await live.take(4)).toHaveLength(4);
    expect(await listed(storage, 'pods/b')).toEqual([`pods/b=4@${revision + 2}`]);
    await storage.close();
    expect((await (await open()).list('')).items).toHaveLength(19);
  });

  it('keeps the file that is open when another has taken its name', async () => {
    const clock = createFakeClock();
    const storage = await openOn(new Disk(), { clock, mappedBytes: () => clock.now() });
    const revision = await storage.create('pods/a', write('1'));
    await rename(join(directory, 'data.mdb'), join(room, 'moved'));
    await clock.advance(mostMappedBytes + 1);
    await storage.update('pods/a', revision, write('2'));
    await letCommitsFinish();
    expect(await listed(storage)).toEqual([`pods/a=2@${revision + 1}`]);
    expect(await readdir(directory)).not.toContain('data.mdb');
    await rename(join(room, 'moved'), join(directory, 'data.mdb'));
  });

  it('has relaxed writes on disk after their delay', async () => {
    const disk = new Disk();
    const clock = createFakeClock();
    const storage = await openOn(disk, { clock });
    await storage.create('leases/n1', write('beat', 'relaxed'));
    const before = disk.commits;
    await clock.advance(20_000);
    while (disk.commits === before) await settle();
    // The next acknowledged commit stands behind the lazy one.
    await storage.create('pods/a', write('x'));
    directory = await crash();
    expect(await listed(await open(), 'leases/')).toEqual(['leases/n1=beat@1']);
  });

  it('has a relaxed write that awaits the disk there before it acknowledges it, and does not write it a second time', async () => {
    const disk = new Disk();
    const clock = createFakeClock();
    const storage = await openOn(disk, { clock });
    const renewed = await storage.create('leases/a', write('one', 'relaxed'));
    const before = disk.commits;
    const taken = await storage.update('leases/a', renewed, { ...write('two', 'relaxed'), awaitsDisk: true });
    expect(disk.commits).toBe(before + 1);
    directory = await crash();
    expect(await listed(await open())).toEqual([`leases/a=two@${taken}`]);
    const commits = disk.commits;
    await storage.update('leases/a', taken, write('renewed', 'relaxed'));
    expect(disk.commits, 'a renewal is relaxed').toBe(commits);
  });

  it('refuses a relaxed write that awaits a disk which fails, and a renewal that builds on it', async () => {
    const disk = new Disk();
    const storage = await openOn(disk);
    const held = await storage.create('leases/a', write('one', 'relaxed'));
    const other = await storage.create('leases/b', write('b', 'relaxed'));
    disk.failure = Object.assign(new Error('bad sector'), { code: 5 });
    const taken = storage.update('leases/a', held, { ...write('two', 'relaxed'), awaitsDisk: true });
    const renewed = storage.update('leases/a', held + 2, write('two again', 'relaxed'));
    const independent = storage.update('leases/b', other, write('c', 'relaxed'));
    expect(await Promise.all([refusal(taken), refusal(renewed)])).toMatchObject([{ code: 'failed' }, { code: 'failed' }]);
    expect(await independent).toBe(held + 4);
    expect(await listed(storage)).toEqual([`leases/a=one@${held}`, `leases/b=c@${held + 4}`]);
    disk.failure = undefined;
    await storage.update('leases/a', held, { ...write('three', 'relaxed'), awaitsDisk: true });
    directory = await crash();
    expect(await listed(await open(), 'leases/a')).toEqual([`leases/a=three@${held + 5}`]);
  });

  it.each([
    ['no-space', Object.assign(new Error('no space left on device'), { code: 28 })],
    ['failed', Object.assign(new Error('bad sector'), { code: 5 })],
  ])(
    'refuses writes with %s while commits fail, goes on reading and with relaxed writes, and recovers',
    async (code, failure) => {
      const disk = new Disk();
      const storage = await openOn(disk);
      const reader = new WatchReader(storage.watch({ prefix: '' }, abort.signal));
      await storage.create('pods/a', write('1'));
      disk.failure = failure;
      const first = storage.update('pods/a', 1, write('2'));
      const builtOnIt = storage.update('pods/a', 2, write('3'));
      const heartbeat = storage.create('leases/a', write('4', 'relaxed'));
      expect(await Promise.all([refusal(first), refusal(builtOnIt)])).toMatchObject([{ code }, { code }]);
      expect(await heartbeat).toBe(4);
      expect(await listed(storage)).toEqual(['leases/a=4@4', 'pods/a=1@1']);
      disk.failure = undefined;
      expect(await storage.update('pods/a', 1, write('5'))).toBe(5);
      expect(await reader.take(3)).toEqual(['put pods/a=1@1', 'put leases/a=4@4', 'put pods/a=5@5']);
    },
  );

  it('refuses to grow beyond its limit, deletes still, and has room again after the compaction', async () => {
    const storage = await open({ limits: { maxBytes: 10_000 } });
    let count = 0;
    const fill = async (): Promise<never> => {
      for (;;) await storage.create(`pods/${++count}`, write('x'.repeat(1000)));
    };
    expect(await refusal(fill())).toMatchObject({ code: 'no-space' });
    const { items } = await storage.list('');
    for (const item of items) await storage.delete(item.key, item.revision, write('gone'));
    await storage.compact((await storage.list('')).revision);
    await storage.create('pods/new', write('x'.repeat(1000)));
  });

  it('refuses more than 64 MiB that wait for the disk as busy, and takes writes again when they are written', async () => {
    const storage = await open();
    const big = write('x'.repeat(1_000_000));
    const writes = await Promise.allSettled(Array.from({ length: 70 }, (_, i) => storage.create(`pods/${i}`, big)));
    const refused = writes.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused.length).toBeGreaterThanOrEqual(3);
    expect(refused.length).toBeLessThan(10);
    for (const reason of refused) expect(reason).toMatchObject({ code: 'busy' });
    expect(translateStorageError(refused[0], { kind: 'Pod', name: '69' })).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      reason: 'TooManyRequests',
      retryAfterMs: 1_000,
    });
    await storage.create('pods/69', big);
  });

  it('shortens the history by itself when it outgrows its bound', async () => {
    const storage = await open({ limits: { maxHistoryBytes: 20_000 } });
    let revision = await storage.create('pods/a', write('x'));
    for (let i = 0; i < 100; i++) revision = await storage.update('pods/a', revision, write('x'.repeat(1000)));
    expect(await refusal(storage.list('', { revision: 2 }))).toMatchObject({ code: 'compacted' });
    expect((await storage.list('', { revision })).items).toHaveLength(1);
  });
});

/** The lazy write is started by a timer of the fake clock and takes a few turns of the event loop. */
async function letCommitsFinish(): Promise<void> {
  for (let i = 0; i < 50; i++) await settle();
}
