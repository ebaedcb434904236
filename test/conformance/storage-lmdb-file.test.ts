import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { shrinkStore } from '../../apiserver/storage/lmdb/shrink.ts';
import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Storage } from '../../apiserver/storage/storage.ts';
import { listed, refusal, write } from './storage-backends.ts';

// What becomes of the file of an lmdb store from one start to the next.
let room: string;
let directory: string;
let notices: string[];

beforeEach(async () => {
  room = await mkdtemp(join(tmpdir(), 'berth-storage-'));
  directory = join(room, 'store');
  notices = [];
});
afterEach(async () => {
  await rm(room, { recursive: true, force: true });
});

const open = (): Promise<Storage> => openStorage({ backend: 'lmdb', directory, notice: (text) => notices.push(text) });
const sizeInMebi = async (): Promise<number> => (await stat(join(directory, 'data.mdb'))).size / 1024 / 1024;

/** Grows and empties; what is left is small. */
async function growAndEmpty(): Promise<string[]> {
  const storage = await open();
  await storage.create('pods/stays', write('1'));
  await storage.create('leases/stays', write('2', 'relaxed'));
  const keys = Array.from({ length: 45 }, (_, i) => `pods/${i}`);
  await Promise.all(keys.map((key) => storage.create(key, write('x'.repeat(1024 * 1024)))));
  for (const { key, revision } of (await storage.list('pods/')).items)
    if (key !== 'pods/stays') await storage.delete(key, revision, write('gone'));
  await storage.update('pods/stays', 1, write('3'));
  const { revision } = await storage.list('');
  await storage.compact(revision - 1);
  const left = await listed(storage);
  await storage.close();
  return left;
}

it('is mapped once, however far it has grown', async () => {
  const mappings = async () => (await readFile('/proc/self/maps', 'utf8')).split('\n').filter((line) => line.includes(directory));
  const storage = await open();
  for (let i = 0; i < 5; i++) await storage.create(`pods/${i}`, write('x'.repeat(1024 * 1024)));
  expect(await sizeInMebi()).toBeGreaterThan(5);
  expect((await mappings()).filter((line) => line.endsWith('data.mdb'))).toHaveLength(1);
  await storage.close();
  expect(await mappings()).toEqual([]);
});

it('shrinks at the next start when it is mostly empty, and nothing that is stored changes', async () => {
  const left = await growAndEmpty();
  expect(await sizeInMebi()).toBeGreaterThan(40);
  const storage = await open();
  expect(await sizeInMebi()).toBeLessThan(10);
  expect(notices).toEqual([expect.stringMatching(/^the file of the store was mostly empty: copied, \d+ MiB became \d+ MiB$/)]);
  expect(await listed(storage)).toEqual(left);
  const { revision } = await storage.list('');
  expect(await listed(storage, 'pods/', { revision: revision - 1 })).toEqual(['pods/stays=1@1']);
  expect(await storage.create('pods/new', write('4'))).toBeGreaterThan(revision);
  await storage.close();
  notices = [];
  await (await open()).close();
  expect(notices).toEqual([]);
});

it('shrinks by command, also a file that is left alone at a start', async () => {
  const storage = await open();
  await storage.create('pods/a', write('1'));
  const before = await listed(storage);
  await expect(shrinkStore(directory, () => undefined)).rejects.toMatchObject({ code: 'locked' });
  await storage.close();
  const { before: had, after: has } = await shrinkStore(directory, () => undefined);
  expect(has).toBeLessThan(had);
  const again = await open();
  expect(await listed(again)).toEqual(before);
  expect(notices).toEqual([]);
  await again.close();
});

it('is refused when there is no store to shrink', async () => {
  expect(await refusal(shrinkStore(directory, () => undefined))).toMatchObject({ code: 'failed' });
});

it('throws away what an interrupted copy has left', async () => {
  const storage = await open();
  await storage.create('pods/a', write('1'));
  await storage.close();
  await mkdir(join(directory, 'new-file'));
  await writeFile(join(directory, 'new-file', 'data.mdb'), 'half of it');
  const again = await open();
  expect(await listed(again)).toEqual(['pods/a=1@1']);
  expect(await readdir(directory)).not.toContain('new-file');
  await again.close();
});

it('is refused when it shows an older state than it was closed with', async () => {
  const storage = await open();
  await storage.create('pods/a', write('1'));
  await storage.close();
  await copyFile(join(directory, 'data.mdb'), join(room, 'older'));
  const again = await open();
  await again.create('pods/b', write('2'));
  await again.close();
  await copyFile(join(room, 'older'), join(directory, 'data.mdb'));
  expect(await refusal(open())).toMatchObject({ code: 'corrupt' });
});
