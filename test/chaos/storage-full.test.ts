import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Write } from '../../apiserver/storage/storage.ts';
import { StorageError } from '../../apiserver/storage/storage-error.ts';

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

/** Writes a file until the disk takes no more. */
function fillUp(path: string): void {
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

  // Somebody else takes what is left, to the last page: what frees space still goes on, in the room that the store has kept for itself.
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
