import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, statfsSync, writeFileSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BackupEncoder } from '../../apiserver/storage/backup/backup-format.ts';
import { restoreStore } from '../../apiserver/storage/lmdb/restore.ts';
import { shrinkStore } from '../../apiserver/storage/lmdb/shrink.ts';
import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Storage, Write } from '../../apiserver/storage/storage.ts';
import { StorageError } from '../../apiserver/storage/storage-error.ts';
import { growLayout1, unpackLayout1 } from '../fixtures/stores.ts';
import { print } from './storage-answers.ts';

let disk: string;

/** Mounting takes root's rights, with which the chaos tests run, or sudo that does not ask. */
function asRoot(...command: readonly string[]): void {
  const [program, ...args] = process.getuid?.() === 0 ? command : ['sudo', '-n', ...command];
  execFileSync(program!, args, { stdio: 'pipe' });
}

beforeEach(async () => {
  disk = await mkdtemp(join(tmpdir(), 'berth-full-'));
  asRoot('mount', '-t', 'tmpfs', '-o', `size=32m,mode=0777`, 'tmpfs', disk);
});
afterEach(async () => {
  asRoot('umount', '-l', disk);
  await rm(disk, { recursive: true, force: true });
});

/** Writes a file until the disk takes no more, or has so much left. */
function fillUp(path: string, leave = 0): void {
  const { bavail, bsize } = statfsSync(disk);
  if (leave > 0) {
    writeFileSync(path, Buffer.alloc(bavail * bsize - leave));
    return;
  }
  const file = openSync(path, 'a');
  try {
    for (const size of [1024 * 1024, 4096]) {
      try {
        for (;;) writeSync(file, Buffer.alloc(size));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(file);
  }
}

const write = (bytes: Uint8Array): Write => ({
  kind: 'Pod',
  bytes,
  user: 'chaos',
  manager: 'chaos',
  verb: 'create',
  durability: 'synced',
});

it('leaves a store of an older layout as it is while there is no room for a copy, and brings it to the present one when there is', async () => {
  unpackLayout1(disk);
  const directory = join(disk, 'store');
  const format = () => readFileSync(join(directory, 'format'), 'utf8');
  for (const leave of [256 * 1024, 3 * 1024 * 1024]) {
    fillUp(join(disk, 'filling'), leave);
    await expect(openStorage({ backend: 'lmdb', directory })).rejects.toMatchObject({ code: 'no-space' });
    // The version before goes on with it.
    expect(format()).toBe('berth-store 1\n');
    rmSync(join(disk, 'filling'));
  }
  const storage = await openStorage({ backend: 'lmdb', directory });
  expect(await storage.get('roles.rbac.authorization.k8s.io/team/reader')).toBeDefined();
  expect(format()).toBe('berth-store 2\n');
  await storage.close();
});

it('loses nothing when the disk becomes full while a store is brought to the present layout', async () => {
  unpackLayout1(disk);
  await growLayout1(disk, 110);
  const directory = join(disk, 'store');
  const format = () => readFileSync(join(directory, 'format'), 'utf8');
  // Enough to begin with, and less than the copy of 11 MB needs.
  for (const leave of [8.5 * 1024 * 1024, 10 * 1024 * 1024]) {
    fillUp(join(disk, 'filling'), leave);
    await expect(openStorage({ backend: 'lmdb', directory })).rejects.toMatchObject({ code: 'no-space' });
    expect(format()).toBe('berth-store 1\n');
    rmSync(join(disk, 'filling'));
  }
  const storage = await openStorage({ backend: 'lmdb', directory });
  for (let i = 0; i < 110; i++) {
    const found = await storage.get(`roles.rbac.authorization.k8s.io/team/big-${i}`);
    expect(Buffer.alloc(100_000, i).equals(found!.bytes)).toBe(true);
  }
  expect(await storage.get('roles.rbac.authorization.k8s.io/team/reader')).toBeDefined();
  expect(format()).toBe('berth-store 2\n');
  await storage.close();
});

it('refuses writes with no-space on a full disk, keeps every object readable, and recovers when there is space again', async () => {
  const directory = join(disk, 'store');
  const storage = await openStorage({ backend: 'lmdb', directory });
  const kept: string[] = [];
  let refusal: unknown;
  for (let i = 0; refusal === undefined && i < 10_000; i++) {
    const key = `pods/${i}`;
    await storage.create(key, write(Buffer.alloc(50_000, i))).then(
      () => kept.push(key),
      (error: unknown) => {
        refusal = error;
      },
    );
  }
  expect(refusal).toBeInstanceOf(StorageError);
  expect(refusal).toMatchObject({ code: 'no-space' });
  expect((await storage.list('pods/')).items).toHaveLength(kept.length);
  expect(kept.length).toBeGreaterThan(200);
  for (const key of kept) expect((await storage.get(key))?.bytes).toHaveLength(50_000);
  await expect(storage.create('pods/again', write(Buffer.alloc(50_000)))).rejects.toMatchObject({ code: 'no-space' });

  // Another process takes what is left, to the last page: what frees space still goes on, in the room that the store
  // has kept for itself.
  fillUp(join(disk, 'filler'));
  for (const key of kept.splice(0, 20)) await storage.delete(key, (await storage.get(key))!.revision, write(Buffer.alloc(0)));
  for (const key of kept.slice(0, 200)) {
    const { revision, bytes } = (await storage.get(key))!;
    await storage.update(key, revision, { ...write(bytes.subarray(0, 2_000)), urgent: true });
  }
  await expect(storage.create('pods/again', write(Buffer.alloc(50_000)))).rejects.toMatchObject({ code: 'no-space' });
  expect((await storage.list('pods/')).items).toHaveLength(kept.length);

  asRoot('mount', '-o', 'remount,size=64m', disk);
  await vi.waitFor(() => storage.create('pods/soon', write(Buffer.alloc(50_000))), { timeout: 10_000 });
  const revision = await storage.create('pods/again', write(Buffer.alloc(50_000)));
  expect((await storage.get('pods/again'))?.revision).toBe(revision);
  await storage.close();
  const reopened = await openStorage({ backend: 'lmdb', directory });
  expect((await reopened.list('pods/')).items).toHaveLength(kept.length + 2);
  await reopened.close();
});

it('refuses a restore and a copy for which there is no room, at whatever point it ends, and leaves the store as it was', async () => {
  const directory = join(disk, 'store');
  const storage = await openStorage({ backend: 'lmdb', directory });
  for (let i = 0; i < 150; i++) await storage.create(`pods/${i}`, write(Buffer.alloc(90_000, i)));
  const { revision, pages } = storage.backup!.begin();
  const encoder = new BackupEncoder();
  const backup = [encoder.header({ revision, createdAt: '2026-01-01T00:00:00Z' })];
  for (const records of pages(1_000_000)) backup.push(encoder.records(records));
  backup.push(encoder.end());
  const contents = async (from: Storage): Promise<string[]> =>
    (await from.list('')).items.map((item) => `${item.key} ${print(item)}`);
  const before = await contents(storage);
  await storage.close();
  async function* bytes(): AsyncGenerator<Buffer> {
    yield* backup;
  }
  // Nothing, hardly enough to begin, and enough for a part of it.
  for (const freeKibi of [0, 8_300, 10_000]) {
    fillUp(join(disk, 'filler'), freeKibi * 1024);
    const tries = [
      () => restoreStore({ directory, backup: bytes(), name: 'backup', force: true, now: new Date() }),
      () => shrinkStore(directory, () => undefined),
    ];
    for (const begin of tries)
      await expect(begin(), `with ${freeKibi} KiB`).rejects.toMatchObject({
        code: 'no-space',
        message: expect.stringContaining('nothing was changed: free some space there'),
      });
    rmSync(join(disk, 'filler'));
    const again = await openStorage({ backend: 'lmdb', directory });
    expect(await contents(again)).toEqual(before);
    await again.close();
  }
});
