import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, type ClientDuplexStream, credentials, Metadata, type StatusObject } from '@grpc/grpc-js';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type { BulkResult } from '../../api/generated/types.ts';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { type ApiError, type BulkResponse, listAll } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
let raw: Client;
let metadata: Metadata;
beforeAll(async () => {
  server = await startServer();
  ({ raw, metadata } = await rawClient(server));
});
afterAll(async () => {
  raw.close();
  await server.stop();
  await server.remove();
});

async function rawClient({ info, dataDir }: RunningServer): Promise<{ raw: Client; metadata: Metadata }> {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${(await readFile(join(dataDir, 'pki', 'admin.token'), 'utf8')).trim()}`);
  return { raw: new Client(info.address, credentials.createSsl(Buffer.from(info.ca))), metadata };
}

const pass = (bytes: Buffer): Buffer => bytes;

interface RawBulk {
  readonly call: ClientDuplexStream<Buffer, Buffer>;
  readonly results: BulkResult[];
  readonly status: Promise<StatusObject>;
}

/** A stream with bytes as they are. `reading` false: nothing is read behind the first message until `call.resume()`. */
function open(reading = true, own = { raw, metadata }): RawBulk {
  const call = own.raw.makeBidiStreamRequest('/berth.meta.v1.Objects/Bulk', pass, pass, own.metadata);
  const results: BulkResult[] = [];
  const status = new Promise<StatusObject>((resolve) => call.on('status', resolve));
  call.on('error', () => {});
  call.on('data', (bytes: Buffer) => {
    results.push(...(decodeMessage<BulkResponse>('berth.meta.v1.BulkResponse', bytes).results ?? []));
  });
  if (!reading) call.once('data', () => call.pause());
  return { call, results, status };
}

const message = (items: object[]): Buffer => encodeMessage('berth.meta.v1.BulkRequest', { items });

const creation = (id: number, name: string, bytes = 0): object => {
  const object = { metadata: { name, namespace: 'default' }, data: { x: 'x'.repeat(bytes) } };
  const create = { kind: { kind: 'ConfigMap' }, object: encodeMessage('berth.core.v1.ConfigMap', object) };
  return { id, create };
};

async function countOf(prefix: string, { client } = server): Promise<number> {
  const { items } = await listAll(client.configMaps, { namespace: 'default' });
  return items.filter(({ metadata }) => metadata?.name?.startsWith(prefix)).length;
}

test('a client that half-closes gets every result, by the ids that it chose, and then OK', async () => {
  const { call, results, status } = open();
  call.write(message([creation(7, 'half-1'), creation(0, 'half-2')]));
  call.write(message([creation(4_294_967_295, 'half-3'), creation(7, 'half-1')]));
  call.write(message([]));
  call.end();
  expect((await status).code).toBe(0);
  expect(results.map(({ id = 0, error }) => [id, error?.code ?? 0]).sort((a, b) => a[0]! - b[0]! || a[1]! - b[1]!)).toEqual([
    [0, 0],
    [7, 0],
    [7, 6],
    [4_294_967_295, 0],
  ]);
});

test('a stream without anything ends well', async () => {
  const { call, status } = open();
  call.end();
  expect((await status).code).toBe(0);
});

test('what is wrong with an item is its own result', async () => {
  const { call, results, status } = open();
  const nothing = Buffer.from('0a020801', 'hex');
  const unknown = Buffer.from('0a0508027a0161', 'hex');
  const damaged = Buffer.from('0a0508031201ff', 'hex');
  call.write(Buffer.concat([nothing, unknown, damaged, message([creation(4, 'beside-bad-ones')])]));
  call.end();
  expect((await status).code).toBe(0);
  expect(results.map(({ id, error }) => [id, error?.code ?? 0]).sort((a, b) => a[0]! - b[0]!)).toEqual([
    [1, 3],
    [2, 3],
    [3, 3],
    [4, 0],
  ]);
});

test.each([
  ['no message', 'ff', /cannot decode the message/],
  ['a field that it does not have', '1000', /it has no field 2/],
  ['an item that is cut off', '0a05080112', /cannot decode the message/],
  ['an item with a number where its request should be', '0a021001', /an item has no field 2/],
])('a message that is %s fails the stream, behind the results of what came before', async (_, hex, why) => {
  const { call, results, status } = open();
  call.write(message([creation(1, `before-${hex}`)]));
  call.write(Buffer.from(hex, 'hex'));
  const { code, details } = await status;
  expect([code, results.length]).toEqual([3, 1]);
  expect(details).toMatch(why);
  expect(await countOf(`before-${hex}`)).toBe(1);
});

test('too many items in one message are refused with the bound, and none of them is carried out', async () => {
  const { call, results, status } = open();
  call.write(message(Array.from({ length: 1_001 }, (_, i) => creation(i, `too-many-${i}`))));
  const { code, details } = await status;
  expect([code, results]).toEqual([3, []]);
  expect(details).toContain('at most 1000 items');
  expect(await countOf('too-many-')).toBe(0);
});

test('a stream without credentials writes nothing', async () => {
  const call = raw.makeBidiStreamRequest('/berth.meta.v1.Objects/Bulk', pass, pass, new Metadata());
  const status = new Promise<StatusObject>((resolve) => call.on('status', resolve));
  call.on('error', () => {});
  call.on('data', () => {});
  call.write(message([creation(1, 'nobody')]));
  expect((await status).code).toBe(16);
  expect(await countOf('nobody')).toBe(0);
});

test('a client that does not read its results is bounded, and goes on where it was when it reads', async () => {
  const { call, results, status } = open(false);
  // 30 MB of objects, and as much of answers: far more than all windows and bounds take.
  const [messages, each] = [60, 20];
  for (let at = 0; at < messages; at++) {
    const ids = Array.from({ length: each }, (_, i) => at * each + i);
    call.write(message(ids.map((id) => creation(id, `slow-${id}`, 25_000))));
  }
  call.end();
  // The writes begin, and then stand still.
  let before = -1;
  const standsStill = async (): Promise<boolean> => {
    const [then, now] = [before, await countOf('slow-')];
    before = now;
    return now > 0 && now === then;
  };
  await expect.poll(standsStill, { interval: 500, timeout: 30_000 }).toBe(true);
  expect(before).toBeLessThan((messages * each) / 2);
  call.resume();
  expect((await status).code).toBe(0);
  expect(new Set(results.map(({ id = 0 }) => id)).size).toBe(messages * each);
  expect(results.filter(({ error }) => error)).toEqual([]);
});

test('a client that never reads is cut off', async () => {
  const refused: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => refused.push(line) });
  const strict = await startServer({ itemStreamLimits: { stallMs: 500 }, log });
  const own = await rawClient(strict);
  const { call, status } = open(false, own);
  for (let i = 0; i < 20; i++)
    call.write(message(Array.from({ length: 20 }, (_, at) => creation(at, `never-${i}-${at}`, 50_000))));
  await expect.poll(() => refused.some((line) => line.includes('its results were not read')), { timeout: 30_000 }).toBe(true);
  call.resume();
  expect((await status).code).toBe(8);
  own.raw.close();
  await strict.stop();
  await strict.remove();
});

async function deleteMissing({ client }: RunningServer): Promise<{ readonly error?: ApiError | undefined }[]> {
  const results: { readonly error?: ApiError | undefined }[] = [];
  const write = { verb: 'delete', kind: 'ConfigMap', key: { namespace: 'default', name: 'no-such' } } as const;
  for await (const result of client.objects.bulk([write])) results.push(result);
  return results;
}

test('a client that goes in the middle leaves nothing behind, and gives its place back', async () => {
  const small = await startServer({ itemStreamLimits: { streams: 2 } });
  const own = await rawClient(small);
  const going = Array.from({ length: 2 }, () => open(true, own));
  for (const [at, { call }] of going.entries()) {
    const first = new Promise((resolve) => call.once('data', resolve));
    call.write(message(Array.from({ length: 1_000 }, (_, i) => creation(i, `left-${at}-${i}`))));
    await first;
  }
  const refused = { code: 'RESOURCE_EXHAUSTED', retryAfterMs: 1_000, message: expect.stringContaining('2 streams of writes') };
  expect((await deleteMissing(small))[0]?.error).toMatchObject(refused);
  for (const { call, status } of going) {
    call.cancel();
    expect((await status).code).toBe(1);
  }
  await expect.poll(async () => (await deleteMissing(small))[0]?.error?.code).toBe('NOT_FOUND');
  // What it had begun may have been carried out; nothing of it goes on by itself.
  const now = await countOf('left-', small);
  expect(await countOf('left-', small)).toBe(now);
  own.raw.close();
  await small.stop();
  await small.remove();
});

test('a stream whose client has a rate is slowed down, and every item is carried out', async () => {
  const slow = await startServer({ limits: { clientRate: 20, clientBurst: 5 } });
  const own = await rawClient(slow);
  const { call, results, status } = open(true, own);
  call.write(message(Array.from({ length: 20 }, (_, i) => creation(i, `rate-${i}`))));
  call.end();
  expect((await status).code).toBe(0);
  expect(results.map(({ error }) => error)).toEqual(Array.from({ length: 20 }, () => undefined));
  own.raw.close();
  await slow.stop();
  await slow.remove();
});

test('items are counted by their codes', async () => {
  const metrics = new MetricsRegistry();
  const measured = await startServer({ metrics });
  const own = await rawClient(measured);
  const { call, status } = open(true, own);
  call.write(message([creation(1, 'counted'), creation(2, 'counted'), creation(3, 'Bad_Name')]));
  call.end();
  await status;
  const text = formatMetrics(metrics, 'prometheus');
  for (const [code, count] of [
    ['OK', 1],
    ['ALREADY_EXISTS', 1],
    ['INVALID_ARGUMENT', 1],
  ])
    expect(text).toContain(
      `berth_apiserver_stream_items_total{service="berth.meta.v1.Objects",method="Bulk",code="${code}"} ${count}`,
    );
  own.raw.close();
  await measured.stop();
  await measured.remove();
});

test('items whose names the server makes share commits, in one namespace too', async () => {
  const metrics = new MetricsRegistry();
  const measured = await startServer({ metrics, backend: 'lmdb' });
  const own = await rawClient(measured);
  const commits = (): number =>
    Number(formatMetrics(metrics, 'prometheus').match(/^berth_storage_commit_duration_seconds_count (\d+)$/m)?.[1]);
  const object = encodeMessage('berth.core.v1.ConfigMap', { metadata: { generateName: 'drawn-', namespace: 'default' } });
  const before = commits();
  const { call, results, status } = open(true, own);
  call.write(message(Array.from({ length: 200 }, (_, id) => ({ id, create: { kind: { kind: 'ConfigMap' }, object } }))));
  call.end();
  await status;
  expect(results.filter(({ error }) => error)).toEqual([]);
  expect(commits() - before).toBeGreaterThan(0);
  expect(commits() - before).toBeLessThan(50);
  own.raw.close();
  await measured.stop();
  await measured.remove();
});

test('a server that stops in the middle sends the results of what it did, and does nothing without a result', async () => {
  const first = await startServer({ backend: 'lmdb' });
  const own = await rawClient(first);
  const call = own.raw.makeBidiStreamRequest('/berth.meta.v1.Objects/Bulk', pass, pass, own.metadata);
  const acknowledged = new Set<number>();
  const status = new Promise<StatusObject>((resolve) => call.on('status', resolve));
  let stopped: Promise<void> | undefined;
  call.on('error', () => {});
  call.on('data', (bytes: Buffer) => {
    for (const { id = 0, error } of decodeMessage<BulkResponse>('berth.meta.v1.BulkResponse', bytes).results ?? [])
      if (!error) acknowledged.add(id);
    stopped ??= first.stop();
  });
  for (let at = 0; at < 10; at++)
    call.write(message(Array.from({ length: 500 }, (_, i) => creation(at * 500 + i, `stop-${at * 500 + i}`))));
  expect((await status).code).toBe(14);
  await stopped;
  own.raw.close();
  const second = await startServer({ backend: 'lmdb', dataDir: first.dataDir });
  const { items } = await listAll(second.client.configMaps, { namespace: 'default' });
  const stored = items.map(({ metadata }) => Number(metadata?.name?.slice('stop-'.length)));
  expect(acknowledged.size).toBeGreaterThan(0);
  expect(acknowledged.size).toBeLessThan(5_000);
  expect(stored.sort((a, b) => a - b)).toEqual([...acknowledged].sort((a, b) => a - b));
  await second.stop();
  await second.remove();
}, 60_000);
