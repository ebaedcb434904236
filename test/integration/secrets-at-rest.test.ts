import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { restoreFiles } from '../../apiserver/main.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// Where the bytes of a Secret may not be: on the disk, in a backup, in a log, in what commands print.
const words = ['sword', 'fish', '-', 'and', '-', 'chips'];
const value = words.join('');
const forms = [value, Buffer.from(value).toString('base64')];

let server: RunningServer;
let line: CommandLine;
let logged = '';
const kept = new Writable({
  write(chunk, _, done) {
    logged += String(chunk);
    done();
  },
});
const log = pino({ level: 'debug' }, kept);
const start = (dataDir?: string) => startServer({ backend: 'lmdb', log, ...(dataDir !== undefined && { dataDir }) });

beforeAll(async () => {
  server = await start();
  line = await openCommandLine(server.admin);
});
afterAll(async () => {
  await line.close();
  await server.stop();
  await server.remove();
});

async function restart(): Promise<void> {
  await line.close();
  await server.stop();
  server = await start(server.dataDir);
  line = await openCommandLine(server.admin);
}

async function filesWith(dir: string): Promise<string[]> {
  const found = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = found.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  const hits = await Promise.all(files.map(async (file) => [file, await readFile(file)] as const));
  return hits.filter(([, bytes]) => forms.some((form) => bytes.includes(form))).map(([file]) => file);
}

const at = { namespace: 'default', name: 'dish' };
const read = async () => Buffer.from((await server.client.secrets.get(at)).data?.recipe ?? []).toString();

it('a Secret is nowhere on the disk, and there after a restart', async () => {
  const secret = { metadata: { ...at, labels: { step: 'one' } }, data: { recipe: Buffer.from(value) } };
  await server.client.secrets.create(secret);
  await server.client.secrets.patch(at, { metadata: { labels: { step: 'two' } } });
  await server.client.configMaps.create({ metadata: { ...at, name: 'seen' }, data: { word: 'visible-on-disk' } });
  await restart();
  expect(await read()).toBe(value);
  expect(await filesWith(server.dataDir)).toEqual([]);
  expect((await readFile(join(server.dataDir, 'store', 'data.mdb'))).includes('visible-on-disk')).toBe(true);
});

it('its history is there too, and shows no values', async () => {
  const { out } = await line.berth('history', 'secret', 'dish');
  expect(out).toContain('metadata.labels');
  for (const form of forms) expect(out).not.toContain(form);
});

it('a new key is made while the server runs; values that were kept with the old one stay readable', async () => {
  const before = await readFile(join(server.dataDir, 'secret-keys', 'keyring.json'), 'utf8');
  const { code, out } = await line.berth('secrets', 'rotate-key');
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/^secrets are encrypted with the new key [0-9a-f]{16}, 1 written anew; copy/),
  ]);
  expect(await readFile(join(server.dataDir, 'secret-keys', 'keyring.json'), 'utf8')).not.toBe(before);
  expect(await read()).toBe(value);
  await restart();
  expect(await read()).toBe(value);
});

it('only who may change keys changes them', async () => {
  const { code, err } = await line.berth('secrets', 'rotate-key', '--context', 'nobody');
  expect([code, err]).toEqual([1, expect.stringContaining('nobody')]);
});

it('a backup holds no values, and is refused where its key is not; with the key it is restored', async () => {
  const file = join(line.folder, 'backup');
  const { code, err } = await line.berth('backup', file);
  expect([code, err]).toEqual([0, expect.stringContaining('keep a copy of secret-keys/')]);
  const bytes = await readFile(file);
  expect(forms.some((form) => bytes.includes(form))).toBe(false);
  async function* chunks() {
    yield bytes;
  }
  const elsewhere = join(line.folder, 'elsewhere');
  await mkdir(elsewhere);
  const restore = () => restoreFiles({ dataDir: elsewhere, backup: chunks(), name: 'the backup', force: false });
  await expect(restore()).rejects.toThrow(`the Secrets in the backup are encrypted with the key`);
  expect(await readdir(join(elsewhere, 'store'))).not.toContain('data.mdb');
  await mkdir(join(elsewhere, 'secret-keys'), { mode: 0o700 });
  const { copyFile } = await import('node:fs/promises');
  await copyFile(join(server.dataDir, 'secret-keys', 'keyring.json'), join(elsewhere, 'secret-keys', 'keyring.json'));
  await restore();
  const other = await start(elsewhere);
  expect(Buffer.from((await other.client.secrets.get(at)).data?.recipe ?? []).toString()).toBe(value);
  await other.stop();
});

it('without its keys the server does not start, says so, and loses nothing', async () => {
  await line.close();
  await server.stop();
  const keys = join(server.dataDir, 'secret-keys');
  await rename(keys, `${keys}.kept`);
  await expect(start(server.dataDir)).rejects.toThrow('which holds it, is not there: put back the file that belongs to it');
  await rm(keys, { recursive: true, force: true });
  await rename(`${keys}.kept`, keys);
  server = await start(server.dataDir);
  line = await openCommandLine(server.admin);
  expect(await read()).toBe(value);
});

it('no log and no description has shown it', async () => {
  const { out } = await line.berth('describe', 'secret', 'dish');
  const table = await line.berth('get', 'secret', 'dish');
  const events = await line.berth('events');
  for (const text of [logged, out, table.out, events.out]) for (const form of forms) expect(text).not.toContain(form);
  expect(logged.length).toBeGreaterThan(0);
});
