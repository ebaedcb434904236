import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BackupEncoder } from '../../apiserver/storage/backup/backup-format.ts';
import { restoreStore } from '../../apiserver/storage/lmdb/restore.ts';
import { openStorage } from '../../apiserver/storage/open-storage.ts';
import { StorageError } from '../../apiserver/storage/storage-error.ts';
import { effort } from './effort.ts';
import { chaosWrite, makeKnownStore } from './known-store.ts';
import { type Chance, createChance } from './random.ts';

const hook = new URL('../conformance/storage-from-source.mjs', import.meta.url).href;
const program = fileURLToPath(new URL('./store-worker.ts', import.meta.url));

let room: string;
let chance: Chance;
/** A store, a backup of it, and what is in both; then another store, and what is in that one. */
let backup: Buffer;
let backedUp: string[];
let other: string[];

beforeAll(async () => {
  chance = createChance('backups');
  room = await mkdtemp(join(tmpdir(), 'berth-backup-'));
  await makeKnownStore(join(room, 'source'), chance, 600);
  backup = await backUp(join(room, 'source'));
  await writeFile(join(room, 'backup'), backup);
  backedUp = await contents(join(room, 'source'));
  await makeKnownStore(join(room, 'other'), chance, 400);
  other = await contents(join(room, 'other'));
});
afterAll(async () => {
  await rm(room, { recursive: true, force: true });
});

async function backUp(directory: string): Promise<Buffer> {
  const storage = await openStorage({ backend: 'lmdb', directory });
  const { revision, pages } = storage.backup!.begin();
  const encoder = new BackupEncoder();
  const chunks = [encoder.header({ revision, createdAt: '2026-01-01T00:00:00Z' })];
  for (const records of pages(10_000)) chunks.push(encoder.records(records));
  chunks.push(encoder.end());
  await storage.close();
  return Buffer.concat(chunks);
}

/** Everything that is in a store, with its revisions. */
async function contents(directory: string): Promise<string[]> {
  const storage = await openStorage({ backend: 'lmdb', directory });
  const { items } = await storage.list('');
  await storage.close();
  return items.map(({ key, revision, bytes }) => `${key} ${revision} ${Buffer.from(bytes).toString('latin1')}`);
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 7_001) yield bytes.subarray(at, at + 7_001);
}

/** One way in which a file goes bad on its way. */
const damages: readonly ((bytes: Buffer) => Buffer)[] = [
  (bytes) => bytes.subarray(0, chance.below(bytes.length)),
  (bytes) => {
    const copy = Buffer.from(bytes);
    copy[chance.below(copy.length)]! ^= 1 << chance.below(8);
    return copy;
  },
  (bytes) => Buffer.concat([bytes, bytes.subarray(0, 1 + chance.below(100))]),
  (bytes) => {
    const [a, b] = [chance.below(bytes.length), chance.below(bytes.length)].sort((x, y) => x - y);
    return Buffer.concat([bytes.subarray(0, a), bytes.subarray(b! + 1)]);
  },
  (bytes) => Buffer.from(bytes).fill(0, chance.below(bytes.length)),
];

it('refuses every damaged backup with that reason, and leaves the store that is there as it is', async () => {
  const rounds = effort(40, 400);
  const codes = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    const bad = chance.pick(damages)(backup);
    if (bad.equals(backup)) continue;
    const refused = restoreStore({
      directory: join(room, 'other'),
      backup: inPieces(bad),
      name: 'bad',
      force: true,
      now: new Date(),
    });
    const error: unknown = await refused.catch((reason: unknown) => reason);
    if (!(error instanceof StorageError)) throw new Error(`round ${round}: expected a refusal, got ${String(error)}`);
    expect(error.message).toMatch(/^read bad: (it is no backup of Berth|the backup is damaged|it has format \d+)/);
    codes.set(error.code, (codes.get(error.code) ?? 0) + 1);
  }
  expect([...codes.keys()].filter((code) => code !== 'corrupt' && code !== 'newer-format')).toEqual([]);
  expect(await contents(join(room, 'other'))).toEqual(other);
  expect((await readdir(room)).filter((name) => name.includes('before-restore'))).toEqual([]);
  process.stdout.write(`damaged backups: ${[...codes].map(([code, count]) => `${count} ${code}`).join(', ')}\n`);
});

/** Starts a task on a store, and kills it after a random time. Returns whether it had ended before. */
async function runAndKill(task: 'shrink' | 'restore', directory: string, longestLifeMs: number): Promise<boolean> {
  const args = ['--import', hook, program, task, directory, join(room, 'backup')];
  // A group of its own, so that what it started dies with it.
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  let said = '';
  const begun = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk;
      if (said.includes('begun')) resolve();
    });
    child.once('close', () => resolve());
  });
  const closed = new Promise((resolve) => child.once('close', resolve));
  await begun;
  await delay(chance.below(longestLifeMs));
  try {
    process.kill(-child.pid!, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  await closed;
  return said.includes('done');
}

it.each(['shrink', 'restore'] as const)(
  'leaves the old store or the new one, whole, when a %s is killed at any moment',
  async (task) => {
    const rounds = effort(5, 60);
    let [finished, changed] = [0, 0];
    for (let round = 0; round < rounds; round++) {
      const directory = join(room, `victim-${task}`, 'store');
      await rm(join(room, `victim-${task}`), { recursive: true, force: true });
      await cp(join(room, 'other'), directory, { recursive: true });
      // A restore reads the store that is there and then the new one, each in a process of its own.
      if (await runAndKill(task, directory, task === 'restore' ? 2_400 : 1_200)) finished += 1;
      const found = await contents(directory);
      const isNew = task === 'restore' && found[0] !== other[0];
      expect(found, `round ${round}`).toEqual(isNew ? backedUp : other);
      if (isNew) changed += 1;
    }
    process.stdout.write(`${task}: ${rounds} kills, ${finished} had ended before, ${changed} stores were the new one\n`);
  },
);

it('takes revisions after a restore that no store has used, also when the same backup is restored again', async () => {
  const directory = join(room, 'twice', 'store');
  const used = new Set<number>();
  for (let round = 0; round < 3; round++) {
    const now = new Date(Date.UTC(2026, 0, 1, 0, 0, round));
    await restoreStore({ directory, backup: inPieces(backup), name: 'backup', force: true, now });
    const storage = await openStorage({ backend: 'lmdb', directory });
    for (let i = 0; i < 50; i++) {
      const revision = await storage.create(`pods/new-${i}`, chaosWrite(Buffer.from('x'), 'synced'));
      expect(used.has(revision)).toBe(false);
      used.add(revision);
    }
    await storage.close();
  }
  expect((await readFile(join(directory, 'format'), 'utf8')).trim()).toBe('berth-store 2');
});
