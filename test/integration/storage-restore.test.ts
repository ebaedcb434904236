import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BackupEncoder } from '../../apiserver/storage/backup/backup-format.ts';
import { type Restored, restoreStore } from '../../apiserver/storage/lmdb/restore.ts';
import { openStorage } from '../../apiserver/storage/open-storage.ts';

// One backup, restored again and again: what stores give out, and what becomes of those that were there.
let room: string;
let directory: string;
/** Every revision that any store here has given out. */
let used: number[];
let count = 0;

beforeEach(async () => {
  room = await mkdtemp(join(tmpdir(), 'berth-restore-'));
  directory = join(room, 'store');
  used = [];
});
afterEach(() => rm(room, { recursive: true, force: true }));

/** Writes some objects, and backs the store up. */
async function use(): Promise<Buffer> {
  const storage = await openStorage({ backend: 'lmdb', directory });
  const write = { kind: 'Pod', bytes: Buffer.from('x'), verb: 'create', user: 'u', manager: 'm', durability: 'synced' } as const;
  for (let i = 0; i < 20; i++) used.push(await storage.create(`pods/${count++}`, write));
  const { revision, pages } = storage.backup!.begin();
  const encoder = new BackupEncoder();
  const pieces = [encoder.header({ revision, createdAt: '2026-01-01T00:00:00Z' })];
  for (const records of pages(10_000)) pieces.push(encoder.records(records));
  pieces.push(encoder.end());
  await storage.close();
  return Buffer.concat(pieces);
}

async function* bytesOf(backup: Buffer): AsyncGenerator<Buffer> {
  yield backup;
}

const at = (seconds: number): Date => new Date(Date.UTC(2026, 5, 1) + seconds * 1000);
const restore = (backup: Buffer, seconds: number): Promise<Restored> =>
  restoreStore({ directory, backup: bytesOf(backup), name: 'backup', force: true, now: at(seconds) });
const expectNoneTwice = (): void => expect(used).toEqual([...new Set(used)].sort((a, b) => a - b));

it.each([
  ['moved aside', async (): Promise<void> => undefined],
  ['wiped', () => rm(directory, { recursive: true })],
  ['damaged', () => writeFile(join(directory, 'data.mdb'), 'x'.repeat(100_000))],
] as const)(
  'uses no version twice when a backup from soon after a restore is restored twice and the store is %s',
  async (_, lose) => {
    await restore(await use(), 0);
    const backup = await use();
    for (const seconds of [60, 120, 180]) {
      await lose();
      await restore(backup, seconds);
      await use();
    }
    expectNoneTwice();
  },
);

it('uses no version twice when the clock stands still', async () => {
  await restore(await use(), 0);
  const backup = await use();
  for (let i = 0; i < 3; i++) {
    await restore(backup, 0);
    await use();
  }
  expectNoneTwice();
});

it('keeps each store aside that was there, also two of one second, and says when one could not be read', async () => {
  const backup = await use();
  const first = await restore(backup, 0);
  await writeFile(join(directory, 'data.mdb'), 'x'.repeat(100_000));
  const second = await restore(backup, 0);
  expect([first.isUnread, second.isUnread]).toEqual([false, true]);
  expect(second.aside).toBe(`${first.aside}-2`);
  for (const aside of [first.aside!, second.aside!]) expect(await readdir(aside)).toContain('data.mdb');
});
