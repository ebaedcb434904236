import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
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
  asRoot('mount', '-t', 'tmpfs', '-o', `size=8m,mode=0777`, 'tmpfs', disk);
});
afterEach(async () => {
  asRoot('umount', '-l', disk);
  await rm(disk, { recursive: true, force: true });
});

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
  for (const key of kept) expect((await storage.get(key))?.bytes).toHaveLength(50_000);
  await expect(storage.create('pods/again', write(Buffer.alloc(50_000)))).rejects.toMatchObject({ code: 'no-space' });

  asRoot('mount', '-o', 'remount,size=16m', disk);
  const revision = await storage.create('pods/again', write(Buffer.alloc(50_000)));
  expect((await storage.get('pods/again'))?.revision).toBe(revision);
  await storage.close();
  const reopened = await openStorage({ backend: 'lmdb', directory });
  expect((await reopened.list('pods/')).items).toHaveLength(kept.length + 1);
  await reopened.close();
});
