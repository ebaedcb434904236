import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { restoreFiles } from '../../apiserver/main.ts';
import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Client } from '../../client/index.ts';
import { unpackLayout1 } from '../fixtures/stores.ts';
import { startServer } from './apiserver-harness.ts';
import { killProcess, spawnServer, startServerProcess } from './server-process.ts';

// What the version before wrote, by plurals alone, is there after the first start of this one, by group resources.
let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-layout-'));
  unpackLayout1(dataDir);
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const format = () => readFile(join(dataDir, 'store', 'format'), 'utf8');

async function expectEverything({ roles, roleBindings, leases, secrets, configMaps, ...client }: Client): Promise<void> {
  const at = (name: string) => ({ namespace: 'team', name });
  expect((await roles.get(at('reader'))).metadata?.labels).toEqual({ changed: 'yes' });
  expect((await roles.list({ namespace: 'team' })).items).toHaveLength(1);
  expect((await roleBindings.get(at('anna'))).subjects).toMatchObject([{ name: 'anna' }]);
  expect((await leases.get(at('leader'))).spec?.holderIdentity).toBe('one');
  expect(Buffer.from((await secrets.get(at('password'))).data?.p ?? '').toString()).toBe('open');
  expect((await configMaps.get(at('settings'))).data).toEqual({ a: '2' });
  expect((await client.podDisruptionBudgets.get(at('budget'))).spec?.minAvailable?.intVal).toBe(1);
  expect((await client.storageClasses.get({ name: 'fast' })).provisioner).toBe('example.com/fast');
  expect((await client.runtimeClasses.get({ name: 'special' })).handler).toBe('runc');
  expect((await client.clusterRoles.get({ name: 'view' })).metadata?.name).toBe('view');
}

async function start() {
  return startServer({ dataDir, backend: 'lmdb' });
}

it('shows every object of the store of the version before, and goes on with it', async () => {
  const first = await start();
  await expectEverything(first.client);
  await first.client.roles.patch({ namespace: 'team', name: 'reader' }, { metadata: { labels: { changed: 'again' } } });
  await first.client.roles.delete({ namespace: 'team', name: 'reader' });
  await first.client.roles.create({
    metadata: { namespace: 'team', name: 'reader', labels: { changed: 'yes' } },
    rules: [],
  });
  await first.stop();
  expect(await format()).toBe('berth-store 2\n');
  const second = await start();
  await expectEverything(second.client);
  await second.stop();
});

it('keeps the history and the deletions', async () => {
  const storage = await openStorage({ backend: 'lmdb', directory: join(dataDir, 'store') });
  const versions = async (name: string) =>
    (await storage.history.writes(`roles.rbac.authorization.k8s.io/team/${name}`, { limit: 10 })).writes.map(({ verb }) => verb);
  expect(await versions('reader')).toEqual(['patch', 'create']);
  expect(await versions('gone')).toEqual(['delete', 'create']);
  // A watch from before the first start goes on with the changes since, under the present keys.
  const stop = new AbortController();
  const changes: string[] = [];
  const prefix = 'roles.rbac.authorization.k8s.io/team/';
  const all = (await storage.history.writes(`${prefix}reader`, { limit: 10 })).writes;
  for await (const events of storage.watch({ prefix, from: all.at(-1)!.revision - 1 }, stop.signal)) {
    changes.push(...events.map(({ type, key }) => `${type} ${key.slice(prefix.length)}`));
    if (changes.filter((each) => each === 'put reader').length === 2 && changes.includes('delete gone')) stop.abort();
  }
  expect(new Set(changes)).toEqual(new Set(['put reader', 'put gone', 'delete gone']));
  const { items } = await storage.list('');
  expect(items.filter(({ key }) => /^(roles|leases|storageclasses)\//.test(key))).toEqual([]);
  await storage.close();
});

it('loses nothing to kills at any moment of the first start', async () => {
  const wholeMs = await timeFirstStart();
  // Each a little later, past the moment at which the new layout is noted; how long a start takes depends on the load.
  for (let kills = 1, left = 3; left > 0; kills++) {
    const server = await spawnServer(dataDir, '127.0.0.1:0');
    await sleep((wholeMs * kills) / 16);
    await killProcess(server);
    if ((await format()) === 'berth-store 2\n') left--;
  }
  const server = await start();
  await expectEverything(server.client);
  await server.stop();
  expect(await readdir(join(dataDir, 'store'))).not.toContain('new-file');
}, 300_000);

/** How long a server takes with a copy of the store until it serves. */
async function timeFirstStart(): Promise<number> {
  const copy = await mkdtemp(join(tmpdir(), 'berth-layout-'));
  try {
    await cp(dataDir, copy, { recursive: true });
    const began = performance.now();
    await killProcess(await startServerProcess(copy, '127.0.0.1:0'));
    return performance.now() - began;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

it('restores a backup of the version before', async () => {
  async function* bytes(): AsyncGenerator<Buffer> {
    yield await readFile(join(dataDir, 'backup'));
  }
  await restoreFiles({ dataDir, backup: bytes(), name: 'backup', force: true });
  const server = await start();
  await expectEverything(server.client);
  await server.stop();
});
