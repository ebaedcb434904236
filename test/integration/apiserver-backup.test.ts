import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { issueNodeCredentials, restoreFiles } from '../../apiserver/main.ts';
import { type Client, type ConfigMap, connect, listAll } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

// A backup over gRPC while writes go on, and a server over what was restored.
let room: string;
let server: RunningServer;

beforeEach(async () => {
  room = await mkdtemp(join(tmpdir(), 'berth-backup-'));
  server = await startServer({ dataDir: join(room, 'data'), backend: 'lmdb' });
});
afterEach(async () => {
  await server.stop();
  await rm(room, { recursive: true, force: true });
});

const configMap = (name: string, size = 10): ConfigMap => ({
  metadata: { namespace: 'default', name },
  data: { filling: 'x'.repeat(size) },
});

async function backUp(client: Client): Promise<{ chunks: Buffer[]; version: string }> {
  const chunks: Buffer[] = [];
  let version = '';
  for await (const { data, resourceVersion } of client.backups.backup()) {
    if (data) chunks.push(data);
    version ||= resourceVersion ?? '';
  }
  return { chunks, version };
}

/** Starts the server again over what a backup holds; `force` as the command's. */
async function restore(chunks: readonly Buffer[]): Promise<void> {
  await server.stop();
  async function* bytes(): AsyncGenerator<Buffer> {
    yield* chunks;
  }
  await restoreFiles({ dataDir: join(room, 'data'), backup: bytes(), name: 'backup', force: true });
  server = await startServer({ dataDir: join(room, 'data'), backend: 'lmdb' });
}

it('holds all objects as they were at one version, though writes go on meanwhile', async () => {
  for (let i = 0; i < 60; i++) await server.client.configMaps.create(configMap(`before-${i}`, 20_000));
  let isWriting = true;
  const writing = (async () => {
    for (let i = 0; isWriting; i++) {
      await server.client.configMaps.create(configMap(`during-${i}`));
      await server.client.configMaps.patch({ namespace: 'default', name: `before-${i % 60}` }, { data: { step: `${i}` } });
      if (i > 0) await server.client.configMaps.delete({ namespace: 'default', name: `during-${i - 1}` });
    }
  })();
  const { chunks, version } = await backUp(server.client);
  isWriting = false;
  await writing;
  const { items: then } = await listAll(server.client.configMaps, {
    namespace: 'default',
    resourceVersion: version,
    resourceVersionMatch: 'Exact',
  });
  await restore(chunks);
  const { items } = await listAll(server.client.configMaps, { namespace: 'default' });
  expect(then.length).toBeGreaterThanOrEqual(60);
  expect(items).toEqual(then);
});

it('lets no watch go on across a restore, and gives every later write a version that was never used', async () => {
  const { client } = server;
  const first = await client.configMaps.create(configMap('first'));
  const { chunks } = await backUp(client);
  const lost = await client.configMaps.create(configMap('lost'));
  await restore(chunks);
  for (const seen of [first, lost]) {
    const scope = { namespace: 'default', resourceVersion: seen.metadata?.resourceVersion };
    const watch = async (): Promise<void> => {
      for await (const _ of server.client.configMaps.watch(scope, { signal: AbortSignal.timeout(20_000) })) return;
    };
    await expect(watch()).rejects.toMatchObject({ code: 'OUT_OF_RANGE' });
  }
  const after = await server.client.configMaps.create(configMap('after'));
  expect(Number(after.metadata?.resourceVersion)).toBeGreaterThan(Number(lost.metadata?.resourceVersion) + 1_000_000);
  // What was not touched is still the version that its holder knows.
  const changed = await server.client.configMaps.update({ ...first, data: { filling: 'new' } });
  expect(changed.data).toEqual({ filling: 'new' });
});

it('is made for administrators only: a node gets none', async () => {
  await issueNodeCredentials(server.dataDir, 'n1');
  const node = connect({ ...server.admin, ...(await readPair(server.dataDir, 'node-n1')) });
  await expect(backUp(node)).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message: expect.stringContaining('cannot create backups'),
  });
  node.close();
});

it('is refused with that reason by a server that keeps its objects in memory', async () => {
  const inMemory = await startServer();
  await expect(backUp(inMemory.client)).rejects.toMatchObject({
    code: 'FAILED_PRECONDITION',
    message: expect.stringContaining('in memory only'),
  });
  await inMemory.stop();
  await inMemory.remove();
});

it('bounds how many are made at once, and a client that leaves makes room', async () => {
  for (let i = 0; i < 40; i++) await server.client.configMaps.create(configMap(`big-${i}`, 400_000));
  const leaving = connect(server.admin);
  const held = [server.client, leaving].map((client) => client.backups.backup()[Symbol.asyncIterator]());
  for (const each of held) await each.next();
  await expect(backUp(server.client)).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  for (const each of held) await each.return?.();
  leaving.close();
  await expect
    .poll(async () => (await backUp(server.client).catch(() => ({ version: '' }))).version, { timeout: 30_000 })
    .not.toBe('');
});
