import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTables } from '../../apiserver/storage/lmdb/tables.ts';
import { encodeRecord } from '../../apiserver/storage/record.ts';
import { cutOff, damagePage } from './damage.ts';
import { effort } from './effort.ts';
import { type KnownStore, makeKnownStore } from './known-store.ts';
import { type Chance, createChance } from './random.ts';
import type { Report } from './storage-reader.ts';

const hook = new URL('../conformance/storage-from-source.mjs', import.meta.url).href;
const program = fileURLToPath(new URL('./storage-reader.ts', import.meta.url));

let room: string;
let known: KnownStore;
let chance: Chance;

beforeAll(async () => {
  chance = createChance('damaged stores');
  room = await mkdtemp(join(tmpdir(), 'berth-damage-'));
  known = await makeKnownStore(join(room, 'sound'), chance);
});
afterAll(async () => {
  await rm(room, { recursive: true, force: true });
});

/** A copy of the sound store, closed or as a kill would leave it. */
async function copyStore(isClean: boolean): Promise<string> {
  const directory = join(room, 'damaged');
  await rm(directory, { recursive: true, force: true });
  await cp(join(room, 'sound'), directory, { recursive: true });
  await rm(join(directory, 'lock.mdb'), { force: true });
  if (!isClean) await rm(join(directory, 'clean'));
  return directory;
}

/** What a process of its own finds in a store; undefined when it died of it. */
async function read(directory: string): Promise<Report | undefined> {
  const child = spawn(process.execPath, ['--import', hook, program, directory, JSON.stringify(known.questions)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [output, complaint] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (output += chunk));
  child.stderr.on('data', (chunk: Buffer) => (complaint += chunk));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code !== 0 && complaint) process.stdout.write(`the reader said: ${complaint.slice(0, 2_000)}\n`);
  return code === 0 ? (JSON.parse(output) as Report) : undefined;
}

type Outcome = 'served' | 'mended' | 'refused' | 'refused after a death';

/**
 * What becomes of a damaged store. Fails when an answer is wrong, or when a death is followed by anything but a
 * refusal.
 */
async function judge(directory: string, what: string): Promise<Outcome> {
  const report = await read(directory);
  if (report === undefined) {
    expect(await read(directory), `${what}: the start after a death`).toMatchObject({ kind: 'refused' });
    return 'refused after a death';
  }
  if (report.kind === 'refused') {
    expect(report, what).toMatchObject({ code: 'corrupt', message: expect.stringContaining('berth restore FILE --force') });
    return 'refused';
  }
  for (const answers of report.answers) expect(answers, what).toEqual(known.truth);
  return report.notices.length > 0 ? 'mended' : 'served';
}

async function judgeMany(
  title: string,
  rounds: number,
  damage: (path: string, round: number) => string,
): Promise<Map<Outcome, number>> {
  const outcomes = new Map<Outcome, number>();
  for (let round = 0; round < rounds; round++) {
    const isClean = chance.below(2) === 0;
    const directory = await copyStore(isClean);
    const what = `${isClean ? 'closed' : 'killed'}, ${damage(join(directory, 'data.mdb'), round)}`;
    const outcome = await judge(directory, what);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  process.stdout.write(`${title}: ${[...outcomes].map(([outcome, count]) => `${count} ${outcome}`).join(', ')}\n`);
  return outcomes;
}

it('answers as it should when nothing is damaged, after a clean stop and after a kill', async () => {
  for (const isClean of [true, false]) {
    const report = await read(await copyStore(isClean));
    expect(report).toEqual({ kind: 'served', answers: [known.truth, known.truth, known.truth], notices: [] });
  }
});

it('refuses a store with damaged pages or answers rightly, and never serves what is wrong', async () => {
  // The two beginnings are among few pages that everything depends on: chance alone would seldom find them.
  const outcomes = await judgeMany('damaged pages', effort(20, 100), (path, round) =>
    damagePage(path, chance, round < 2 ? round : undefined),
  );
  expect(outcomes.get('refused') ?? 0).toBeGreaterThan(1);
});

it('refuses a store that has been cut off or answers rightly', async () => {
  await judgeMany('files cut off', effort(5, 50), (path) => cutOff(path, chance));
});

it('refuses a store whose file is gone, and begins no empty one', async () => {
  const directory = await copyStore(false);
  await rm(join(directory, 'data.mdb'));
  expect(await judge(directory, 'gone')).toBe('refused');
});

it('refuses a store that a newer version made, says what to do, and leaves it as it is', async () => {
  const byFormat = await copyStore(true);
  await writeFile(join(byFormat, 'format'), 'berth-store 3\n');
  const before = await readFile(join(byFormat, 'data.mdb'));
  expect(await read(byFormat)).toMatchObject({
    kind: 'refused',
    code: 'newer-format',
    message: expect.stringContaining('start the newer version'),
  });
  expect((await readFile(join(byFormat, 'data.mdb'))).equals(before)).toBe(true);

  const byRecord = await copyStore(false);
  const tables = openTables(byRecord, { readOnly: false });
  const last = { type: 'put', durability: 'synced', previous: 0, time: 0, kind: 'Pod', verb: '', user: '', manager: '' } as const;
  const record = encodeRecord({ ...last, key: 'pods/new', revision: 1_000_000, bytes: Buffer.from('from the future') });
  record[4] = 2;
  record.writeUInt32BE(crc32(record.subarray(4)), 0);
  await tables.log.put(1_000_000, record, { append: true });
  await tables.root.close();
  expect(await read(byRecord)).toMatchObject({
    kind: 'refused',
    code: 'newer-format',
    message: expect.stringContaining('start the newer version'),
  });
});
