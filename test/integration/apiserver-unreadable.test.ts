import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Pod } from '../../client/index.ts';
import { startServer } from './apiserver-harness.ts';

// One object must not be able to stop the server: neither one that asks for the impossible,
// nor one that cannot be read.
let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-unreadable-'));
});
afterEach(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

const podOf = (name: string, more: Pod['spec'] = {}): Pod => ({
  metadata: { namespace: 'default', name },
  spec: { nodeName: 'n', containers: [{ name: 'main', image: 'x' }], ...more },
});

it('a grace period that no date can bear is refused, and the server goes on', async () => {
  const { client, stop } = await startServer({ dataDir });
  const refused = { code: 'INVALID_ARGUMENT' };
  const tooLong = 9e12;
  await expect(client.pods.create(podOf('a', { terminationGracePeriodSeconds: tooLong }))).rejects.toMatchObject(refused);
  await client.pods.create(podOf('a'));
  const at = { namespace: 'default', name: 'a' };
  await expect(client.pods.delete(at, { gracePeriodSeconds: tooLong })).rejects.toMatchObject(refused);
  await client.pods.delete(at, { gracePeriodSeconds: 2 ** 31 - 1 });
  expect((await client.pods.get(at)).metadata?.deletionGracePeriodSeconds).toBe(2 ** 31 - 1);
  await stop();
});

it('a pod that was stored with such a grace period can be deleted', async () => {
  const bytes = encodeMessage('berth.core.v1.Pod', podOf('old', { terminationGracePeriodSeconds: 2 ** 53 - 1 }));
  await store({ 'pods/default/old': bytes });
  const { client, stop } = await startServer({ dataDir, backend: 'lmdb' });
  const at = { namespace: 'default', name: 'old' };
  await client.pods.delete(at);
  expect((await client.pods.get(at)).metadata?.deletionGracePeriodSeconds).toBe(2 ** 31 - 1);
  await stop();
});

it('objects that cannot be read are logged at the start, and all others are served', async () => {
  const good = encodeMessage('berth.core.v1.Pod', podOf('good'));
  // A spec that names a node and then ends within a number.
  const badSpec = Buffer.from('120552016e58ff', 'hex');
  const noMessage = Buffer.from('ff', 'hex');
  await store({
    'pods/default/bad': Buffer.concat([encodeMessage('berth.core.v1.Pod', { metadata: { name: 'bad' } }), badSpec]),
    'pods/default/good': good,
    'pods/default/worse': noMessage,
    'events/default/bad': noMessage,
  });
  const lines: { key?: string; msg: string }[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const { client, stop } = await startServer({ dataDir, backend: 'lmdb', log });
  const passedOver = lines.filter(({ msg }) => msg.includes('cannot read a stored object'));
  expect(passedOver.map(({ key }) => key).sort()).toEqual(['events/default/bad', 'pods/default/bad', 'pods/default/worse']);
  expect((await client.pods.get({ namespace: 'default', name: 'good' })).spec?.nodeName).toBe('n');
  await client.pods.create(podOf('new'));
  await client.configMaps.create({ metadata: { namespace: 'default', name: 'new' } });
  expect((await client.pods.get({ namespace: 'default', name: 'new' })).metadata?.name).toBe('new');
  await stop();
});

/** Puts bytes into the store of a server that does not run, as a version with a fault might have left them. */
async function store(objects: Readonly<Record<string, Uint8Array>>): Promise<void> {
  const storage = await openStorage({ backend: 'lmdb', directory: join(dataDir, 'store') });
  for (const [key, bytes] of Object.entries(objects))
    await storage.create(key, { kind: 'X', bytes, user: 'u', manager: 'm', verb: 'create', durability: 'synced', urgent: false });
  await storage.close();
}
